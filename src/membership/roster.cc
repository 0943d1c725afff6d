#include "membership/roster.h"

#include <algorithm>
#include <bit>
#include <map>
#include <utility>

#include "base/check.h"
#include "base/hash.h"
#include "membership/id_search.h"

namespace exa::membership {

namespace {

// So many replicas with six texts of wire::text_bytes_max each stay below wire::record_bytes_max.
constexpr std::size_t replicas_always_fit = 100;
static_assert(replicas_always_fit * 6 * (wire::text_bytes_max + 64) <= wire::record_bytes_max - 4096);

bool is_tombstone(Liveness liveness) {
    return liveness == Liveness::dead || liveness == Liveness::lost || liveness == Liveness::left;
}

constexpr int part_shift = 64 - std::countr_zero(wire::summary_parts);

std::size_t part_of(PeerId id) {
    return id.value >> part_shift;
}

std::uint64_t hash_of(const wire::DigestEntry& entry) {
    return hash64(hash64(entry.peer.value, entry.generation.value, static_cast<std::uint64_t>(entry.state)),
                  hash64(entry.incarnation.value, entry.version));
}

template <class T>
void insert_sorted(std::vector<T>& list, const T& item) {
    list.insert(std::ranges::lower_bound(list, item), item);
}

template <class T>
void erase_sorted(std::vector<T>& list, const T& item) {
    const auto at = std::ranges::lower_bound(list, item);
    if (at != list.end() && *at == item) list.erase(at);
}

}  // namespace

Liveness liveness_of(wire::MemberState state) {
    switch (state) {
        case wire::MemberState::alive:
            return Liveness::alive;
        case wire::MemberState::suspect:
            return Liveness::suspect;
        case wire::MemberState::dead:
            return Liveness::dead;
        case wire::MemberState::left:
            return Liveness::left;
    }
    EXA_CHECK(false);
}

wire::MemberState state_of(Liveness liveness) {
    switch (liveness) {
        case Liveness::alive:
            return wire::MemberState::alive;
        case Liveness::suspect:
            return wire::MemberState::suspect;
        case Liveness::dead:
        case Liveness::lost:
            return wire::MemberState::dead;
        case Liveness::left:
            return wire::MemberState::left;
    }
    EXA_CHECK(false);
}

Roster::Roster(TimePoint now, const wire::PeerRecord& self, std::uint32_t instance, std::size_t peers_max,
               std::shared_ptr<InternPool> pool)
    : self_(self.id), peers_max_(peers_max), pool_(std::move(pool)) {
    own_ = &add(self_);
    own_->record = std::make_shared<const VersionedRecord>(self);
    own_->instance = instance;
    own_->since = now;
    announce_self();
    index(*own_);
}

const Peer& Roster::own() const {
    return *own_;
}

const Peer* Roster::find(PeerId id) const {
    return find_entry(id);
}

const Peer& Roster::peer(std::size_t i) const {
    return *peers_[i];
}

std::size_t Roster::position(PeerId id) const {
    return lower_bound(ids_, id);
}

Roster::Entry* Roster::find_entry(PeerId id) const {
    const std::size_t at = position(id);
    return at < ids_.size() && ids_[at] == id ? peers_[at].get() : nullptr;
}

Roster::Entry& Roster::entry(PeerId id) const {
    Entry* entry = find_entry(id);
    EXA_CHECK(entry != nullptr);
    return *entry;
}

Roster::Entry& Roster::add(PeerId id) {
    const auto at = static_cast<std::ptrdiff_t>(position(id));
    members_stale_ = true;
    ids_.insert(ids_.begin() + at, id);
    return **peers_.insert(peers_.begin() + at, std::make_unique<Entry>());
}

std::uint32_t Roster::hash_part(PeerId id, Generation generation, std::uint64_t version) {
    return static_cast<std::uint32_t>(hash64(id.value, generation.value, version));
}

void Roster::rehash(Entry& entry) {
    const wire::PeerRecord& record = *entry.record;
    const bool counts = entry.is_live() && record.id != self_;
    const std::uint32_t part = counts ? hash_part(record.id, record.generation, record.version) : 0;
    live_hash_ ^= entry.hashed ^ part;
    entry.hashed = part;
    summarise(entry, entry.out_of_view ? 0 : hash_of(digest(entry)));
}

void Roster::summarise(Entry& entry, std::uint64_t as) {
    summary_[part_of(entry.record->id)] ^= std::exchange(entry.summarised, as) ^ as;
}

std::pair<PeerId, PeerId> Roster::ids_of_part(std::size_t part) {
    const std::uint64_t first = std::uint64_t{part} << part_shift;
    return {PeerId{first}, PeerId{first | ((std::uint64_t{1} << part_shift) - 1)}};
}

void Roster::index(Entry& entry) {
    const PeerId id = entry.record->id;
    rehash(entry);
    insert_sorted(names_, std::pair(entry.record->name_hash(), id));
    if (is_tombstone(entry.liveness)) insert_sorted(tombstones_, std::pair(entry.since, id));
    if (id == self_) return;
    if (entry.is_live()) {
        if (entry.liveness == Liveness::suspect) suspects_.insert(id);
        entry.live_at = static_cast<std::uint32_t>(live_.size());
        live_.push_back(id);
        ++live_version_;
    } else if (entry.liveness != Liveness::left) {
        insert_sorted(dead_, std::pair(entry.since, id));
    }
}

void Roster::unindex(Entry& entry) {
    const PeerId id = entry.record->id;
    members_stale_ = true;
    live_hash_ ^= std::exchange(entry.hashed, 0);
    summarise(entry, 0);
    erase_sorted(names_, std::pair(entry.record->name_hash(), id));
    if (is_tombstone(entry.liveness)) {
        erase_sorted(tombstones_, std::pair(entry.since, id));
        erase_sorted(dead_, std::pair(entry.since, id));
        return;
    }
    if (id == self_) return;
    suspects_.erase(id);
    if (live_.back() != id) {
        live_[entry.live_at] = live_.back();
        this->entry(live_.back()).live_at = entry.live_at;
    }
    live_.pop_back();
    ++live_version_;
}

void Roster::take_out_of_view(PeerId id) {
    Entry& entry = this->entry(id);
    entry.out_of_view = true;
    summarise(entry, 0);
    members_stale_ = true;
}

Roster::Applied Roster::apply(TimePoint now, const wire::RecordDelta& delta, wire::MemberState state) {
    EXA_CHECK(delta.peer != self_);
    Entry* known = find_entry(delta.peer);
    if (known != nullptr && delta.generation < known->record->generation) return Applied::stale;
    if (known == nullptr || delta.generation > known->record->generation) {
        if (!delta.profile) return Applied::gap;
        if (known == nullptr && size() >= peers_max_) return Applied::full;
        if (known != nullptr) unindex(*known);
        Entry& entry = known != nullptr ? * known = Entry{} : add(delta.peer);
        entry.record = make_record(pool_.get(), nullptr, delta);
        entry.instance = delta.instance;
        entry.liveness = liveness_of(state);
        entry.incarnation = delta.incarnation;
        entry.since = now;
        index(entry);
        return known != nullptr ? Applied::restarted : Applied::created;
    }
    if (delta.instance != known->instance) return Applied::conflict;
    if (delta.version <= known->record->version) return Applied::stale;
    if (!known->record->leads_on(delta)) return Applied::gap;
    auto record = make_record(pool_.get(), known->record, delta);
    // Each delta was within bounds; many on top of one another need not be.
    if (record->replicas.size() > replicas_always_fit && wire::check_record(*record).has_error()) return Applied::full;
    replace_record(*known, std::move(record));
    return Applied::changed;
}

void Roster::replace_instance(TimePoint now, PeerId id, std::uint32_t instance, Incarnation incarnation) {
    EXA_CHECK(id != self_);
    Entry& entry = this->entry(id);
    unindex(entry);
    auto profile = std::make_shared<const VersionedRecord>(entry.record->stub());
    entry = Entry{};
    entry.record = std::move(profile);
    entry.instance = instance;
    entry.incarnation = incarnation;
    entry.since = now;
    index(entry);
}

void Roster::replace_record(Entry& entry, std::shared_ptr<const VersionedRecord> record) {
    const bool moves = record->name != entry.record->name || record->gossip != entry.record->gossip;
    if (moves) unindex(entry);
    entry.record = std::move(record);
    members_stale_ = true;
    rehash(entry);
    if (moves) index(entry);
}

void Roster::set_self(const wire::PeerRecord& next) {
    const VersionedRecord& record = *own_->record;
    wire::RecordDelta delta;
    delta.base = record.version;
    delta.version = record.version + 1;
    if (wire::profile_of(next) != wire::profile_of(record)) delta.profile = wire::profile_of(next);
    std::map<ReplicaId, const wire::ReplicaRecord*> before;
    for (const auto& replica : record.replicas) before.emplace(replica.id, &replica);
    for (const auto& replica : next.replicas) {
        const auto at = before.find(replica.id);
        if (at == before.end() || *at->second != replica) delta.replicas.push_back(replica);
        if (at != before.end()) before.erase(at);
    }
    for (const auto& [id, replica] : before) delta.removed.push_back(id);
    replace_record(*own_, std::make_shared<const VersionedRecord>(record, delta));
}

void Roster::announce_self() {
    announced_ = own_->record;
    rehash(*own_);
}

void Roster::set_liveness(TimePoint now, PeerId id, Liveness liveness, Incarnation incarnation, PeerId accuser) {
    Entry& entry = this->entry(id);
    unindex(entry);
    if (entry.liveness != liveness) entry.since = now;
    entry.liveness = liveness;
    entry.incarnation = incarnation;
    entry.accuser = accuser;
    index(entry);
}

void Roster::forget(PeerId id) {
    EXA_CHECK(id != self_);
    Entry* entry = find_entry(id);
    if (entry == nullptr) return;
    unindex(*entry);
    const auto at = static_cast<std::ptrdiff_t>(position(id));
    ids_.erase(ids_.begin() + at);
    peers_.erase(peers_.begin() + at);
}

std::optional<PeerId> Roster::oldest_tombstone(std::size_t max) const {
    if (tombstones_.size() <= max) return std::nullopt;
    for (const auto& [since, id] : tombstones_)
        if (id != self_) return id;
    return std::nullopt;
}

std::optional<PeerId> Roster::namesake(PeerId id) const {
    for (const PeerId other : named(entry(id).record->name))
        if (other != id && entry(other).is_live()) return other;
    return std::nullopt;
}

std::vector<PeerId> Roster::named(std::string_view name) const {
    std::vector<PeerId> all;
    const std::pair first(hash64(as_bytes(name)), PeerId{});
    for (auto at = std::ranges::lower_bound(names_, first); at != names_.end() && at->first == first.first; ++at)
        if (entry(at->second).record->name == name) all.push_back(at->second);
    return all;
}

wire::Fact Roster::fact(PeerId id) const {
    return fact(entry(id));
}

wire::Fact Roster::fact(const Peer& peer) {
    return {peer.record->id, peer.record->generation, peer.incarnation, state_of(peer.liveness), peer.accuser};
}

std::optional<wire::RecordDelta> Roster::delta(PeerId id, std::uint64_t base) const {
    const Entry* entry = find_entry(id);
    if (entry == nullptr) return std::nullopt;
    return delta(*entry, base);
}

std::optional<wire::RecordDelta> Roster::delta(const Peer& peer, std::uint64_t base) const {
    const VersionedRecord& record = announced_record(peer);
    if (record.version == 0) return std::nullopt;
    wire::RecordDelta delta = record.delta(base);
    delta.instance = peer.instance;
    delta.incarnation = peer.incarnation;
    return delta;
}

std::optional<std::size_t> Roster::delta_bytes(const Peer& peer, std::uint64_t base) const {
    const VersionedRecord& record = announced_record(peer);
    if (record.version == 0) return std::nullopt;
    return record.delta_bytes(base, peer.incarnation);
}

std::optional<wire::RecordDelta> Roster::stub(PeerId id) const {
    const Entry* entry = find_entry(id);
    if (entry == nullptr || entry->record->version == 0) return std::nullopt;
    wire::RecordDelta stub = announced_record(*entry).stub();
    stub.instance = entry->instance;
    stub.incarnation = entry->incarnation;
    return stub;
}

wire::DigestEntry Roster::digest(PeerId id) const {
    return digest(entry(id));
}

wire::DigestEntry Roster::digest(const Peer& peer) const {
    const wire::PeerRecord& record = announced_record(peer);
    return {record.id, record.generation, peer.incarnation, state_of(peer.liveness), record.version};
}

MemberList Roster::members() const {
    if (!members_stale_) return members_;
    MemberList::Members members;
    members.reserve(size());
    auto before = members_.begin();
    for (const auto& entry : peers_) {
        if (entry->out_of_view) continue;
        while (before != members_.end() && (*before)->record->id < entry->record->id) ++before;
        const auto is_unchanged = [&](const Member& member) {
            return member.record == entry->record && member.liveness == entry->liveness &&
                   member.incarnation == entry->incarnation && member.since == entry->since;
        };
        if (before != members_.end() && is_unchanged(**before))
            members.push_back(*before);
        else
            members.push_back(std::make_shared<const Member>(
                Member{entry->record, entry->liveness, entry->incarnation, entry->since}));
    }
    members_ = MemberList(std::move(members));
    members_stale_ = false;
    return members_;
}

}  // namespace exa::membership
