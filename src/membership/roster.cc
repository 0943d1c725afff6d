#include "membership/roster.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/hash.h"
#include "membership/id_search.h"

namespace exa::membership {

namespace {

// Removed replicas are remembered up to this many a peer; more and older bases get the whole record.
constexpr std::size_t removed_max = 64;
// So many replicas with six texts of wire::text_bytes_max each stay below wire::record_bytes_max.
constexpr std::size_t replicas_always_fit = 100;
static_assert(replicas_always_fit * 6 * (wire::text_bytes_max + 64) <= wire::record_bytes_max - 4096);

void set_card(wire::PeerRecord& record, const wire::Card& card) {
    record.name = card.name;
    record.state = card.state;
    record.gossip = card.gossip;
    record.link = card.link;
    record.http = card.http;
    record.region = card.region;
    record.rack = card.rack;
    record.keys = card.keys;
    record.primary_key = card.primary_key;
}

bool is_gone(Liveness liveness) {
    return liveness == Liveness::dead || liveness == Liveness::lost || liveness == Liveness::left;
}

}  // namespace

Liveness liveness_of(wire::Standing standing) {
    switch (standing) {
        case wire::Standing::alive:
            return Liveness::alive;
        case wire::Standing::suspect:
            return Liveness::suspect;
        case wire::Standing::dead:
            return Liveness::dead;
        case wire::Standing::left:
            return Liveness::left;
    }
    EXA_CHECK(false);
}

wire::Standing standing_of(Liveness liveness) {
    switch (liveness) {
        case Liveness::alive:
            return wire::Standing::alive;
        case Liveness::suspect:
            return wire::Standing::suspect;
        case Liveness::dead:
        case Liveness::lost:
            return wire::Standing::dead;
        case Liveness::left:
            return wire::Standing::left;
    }
    EXA_CHECK(false);
}

Roster::Roster(TimePoint now, const wire::PeerRecord& self, std::uint32_t life, std::size_t peers_max)
    : self_(self.id), peers_max_(peers_max) {
    own_ = &add(self_);
    own_->record = self;
    own_->life = life;
    own_->since = now;
    own_->editions = {self.version, std::vector(self.replicas.size(), self.version), {}, self.version};
    tell_self();
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

std::uint32_t Roster::digest_part(PeerId id, Generation generation, std::uint64_t version) {
    return static_cast<std::uint32_t>(hash64(id.value, generation.value, version));
}

void Roster::digest_again(Entry& entry) {
    const wire::PeerRecord& record = entry.record;
    const bool counts = entry.is_live() && record.id != self_;
    const std::uint32_t part = counts ? digest_part(record.id, record.generation, record.version) : 0;
    live_digest_ ^= entry.digested ^ part;
    entry.digested = part;
}

void Roster::index(Entry& entry) {
    const PeerId id = entry.record.id;
    digest_again(entry);
    if (entry.is_live()) names_.emplace(entry.record.name, id);
    if (is_gone(entry.liveness)) gone_.emplace(entry.since, id);
    if (id == self_) return;
    if (entry.is_live()) {
        if (entry.liveness == Liveness::suspect) suspects_.insert(id);
        entry.live_at = live_.size();
        live_.push_back(id);
        ++live_edition_;
    } else if (entry.liveness != Liveness::left) {
        dead_.emplace(entry.since, id);
    }
}

void Roster::unindex(Entry& entry) {
    const PeerId id = entry.record.id;
    unpublish(entry);
    live_digest_ ^= std::exchange(entry.digested, 0);
    if (is_gone(entry.liveness)) {
        gone_.erase({entry.since, id});
        dead_.erase({entry.since, id});
        return;
    }
    names_.erase({entry.record.name, id});
    if (id == self_) return;
    suspects_.erase(id);
    if (live_.back() != id) {
        live_[entry.live_at] = live_.back();
        this->entry(live_.back()).live_at = entry.live_at;
    }
    live_.pop_back();
    ++live_edition_;
}

void Roster::unpublish(Entry& entry) {
    entry.published.reset();
    members_stale_ = true;
}

void Roster::hide(PeerId id) {
    entry(id).hidden = true;
    members_stale_ = true;
}

// False when the delta does not start at or below the held edition.
bool Roster::leads_on(const wire::RecordDelta& delta, const wire::PeerRecord& record) {
    return delta.base == 0 || (record.version != 0 && record.version >= delta.base && delta.base != delta.version);
}

// Turns the record into the one after the delta, which must lead on from it.
void Roster::merge(const wire::RecordDelta& delta, wire::PeerRecord& record, Editions& editions) {
    const std::uint64_t version = delta.version;
    if (delta.base == 0) {
        set_card(record, *delta.card);
        record.replicas = delta.replicas;
        record.version = version;
        editions = {version, std::vector(record.replicas.size(), version), {}, version};
        return;
    }
    if (delta.card) {
        set_card(record, *delta.card);
        editions.card = version;
    }
    const auto place_of = [&](const ReplicaId& id) {
        return std::ranges::lower_bound(record.replicas, id, {}, &wire::ReplicaRecord::id) - record.replicas.begin();
    };
    const auto stands_at = [&](std::ptrdiff_t at, const ReplicaId& id) {
        return at < std::ssize(record.replicas) && record.replicas[static_cast<std::size_t>(at)].id == id;
    };
    for (const auto& replica : delta.replicas) {
        const auto at = place_of(replica.id);
        if (stands_at(at, replica.id)) {
            record.replicas[static_cast<std::size_t>(at)] = replica;
            editions.replicas[static_cast<std::size_t>(at)] = version;
        } else {
            record.replicas.insert(record.replicas.begin() + at, replica);
            editions.replicas.insert(editions.replicas.begin() + at, version);
        }
        editions.removed.erase(replica.id);
    }
    for (const ReplicaId& id : delta.removed) {
        if (const auto at = place_of(id); stands_at(at, id)) {
            record.replicas.erase(record.replicas.begin() + at);
            editions.replicas.erase(editions.replicas.begin() + at);
        }
        editions.removed[id] = version;
    }
    if (editions.removed.size() > removed_max) {
        editions.removed.clear();
        editions.whole_below = version;
    }
    record.version = version;
}

Roster::Applied Roster::apply(TimePoint now, const wire::RecordDelta& delta, wire::Standing standing) {
    EXA_CHECK(delta.peer != self_);
    Entry* known = find_entry(delta.peer);
    if (known != nullptr && delta.generation < known->record.generation) return Applied::stale;
    if (known == nullptr || delta.generation > known->record.generation) {
        if (!delta.card) return Applied::gap;
        if (known == nullptr && size() >= peers_max_) return Applied::full;
        if (known != nullptr) unindex(*known);
        Entry& entry = known != nullptr ? * known = Entry{} : add(delta.peer);
        entry.record.id = delta.peer;
        entry.record.generation = delta.generation;
        entry.life = delta.life;
        entry.liveness = liveness_of(standing);
        entry.incarnation = delta.incarnation;
        entry.since = now;
        set_card(entry.record, *delta.card);
        if (leads_on(delta, entry.record)) merge(delta, entry.record, entry.editions);
        index(entry);
        return known != nullptr ? Applied::reborn : Applied::created;
    }
    if (delta.life != known->life) return Applied::clash;
    if (delta.version <= known->record.version) return Applied::stale;
    if (!leads_on(delta, known->record)) return Applied::gap;
    const bool stays =
        !delta.card || (delta.card->name == known->record.name && delta.card->gossip == known->record.gossip);
    if (stays && known->record.replicas.size() + delta.replicas.size() <= replicas_always_fit) {
        merge(delta, known->record, known->editions);
        unpublish(*known);
        digest_again(*known);
        return Applied::changed;
    }
    wire::PeerRecord record = known->record;
    Editions editions = known->editions;
    merge(delta, record, editions);
    // Each delta was within bounds; many on top of one another need not be.
    if (record.replicas.size() > replicas_always_fit && wire::check_record(record).has_error()) return Applied::full;
    replace_record(*known, std::move(record), std::move(editions));
    return Applied::changed;
}

void Roster::replace_record(Entry& entry, wire::PeerRecord record, Editions editions) {
    const bool moves = record.name != entry.record.name || record.gossip != entry.record.gossip;
    if (moves) unindex(entry);
    entry.record = std::move(record);
    entry.editions = std::move(editions);
    unpublish(entry);
    digest_again(entry);
    if (moves) index(entry);
}

void Roster::set_self(const wire::PeerRecord& next) {
    wire::PeerRecord record = own_->record;
    wire::RecordDelta delta;
    delta.base = record.version;
    delta.version = record.version + 1;
    if (wire::card_of(next) != wire::card_of(record)) delta.card = wire::card_of(next);
    std::map<ReplicaId, const wire::ReplicaRecord*> before;
    for (const auto& replica : own_->record.replicas) before.emplace(replica.id, &replica);
    for (const auto& replica : next.replicas) {
        const auto at = before.find(replica.id);
        if (at == before.end() || *at->second != replica) delta.replicas.push_back(replica);
        if (at != before.end()) before.erase(at);
    }
    for (const auto& [id, replica] : before) delta.removed.push_back(id);
    Editions editions = own_->editions;
    EXA_CHECK(leads_on(delta, record));
    merge(delta, record, editions);
    replace_record(*own_, std::move(record), std::move(editions));
}

void Roster::tell_self() {
    told_record_ = own_->record;
    told_editions_ = own_->editions;
}

void Roster::set_liveness(TimePoint now, PeerId id, Liveness liveness, Incarnation incarnation, PeerId accuser) {
    Entry& entry = this->entry(id);
    unindex(entry);
    if (entry.liveness != liveness) entry.since = now;
    if (liveness != Liveness::suspect) entry.suspicion.reset();
    entry.condemned = false;
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

std::optional<PeerId> Roster::surplus(std::size_t most) const {
    if (gone_.size() <= most) return std::nullopt;
    for (const auto& [since, id] : gone_)
        if (id != self_) return id;
    return std::nullopt;
}

std::optional<PeerId> Roster::namesake(PeerId id) const {
    const std::string& name = entry(id).record.name;
    for (auto at = names_.lower_bound({name, PeerId{}}); at != names_.end() && at->first == name; ++at)
        if (at->second != id) return at->second;
    return std::nullopt;
}

wire::Fact Roster::fact(PeerId id) const {
    return fact(entry(id));
}

wire::Fact Roster::fact(const Peer& peer) {
    return {peer.record.id, peer.record.generation, peer.incarnation, standing_of(peer.liveness), peer.accuser};
}

std::optional<wire::RecordDelta> Roster::delta(PeerId id, std::uint64_t base) const {
    const Entry* entry = find_entry(id);
    if (entry == nullptr) return std::nullopt;
    return delta(*entry, base);
}

std::optional<wire::RecordDelta> Roster::delta(const Peer& peer, std::uint64_t base) const {
    const auto* entry = static_cast<const Entry*>(&peer);
    const wire::PeerRecord& record = told_record(*entry);
    if (record.version == 0) return std::nullopt;
    const Editions& editions = told_editions(*entry);
    wire::RecordDelta delta;
    delta.peer = record.id;
    delta.generation = record.generation;
    delta.life = entry->life;
    delta.incarnation = entry->incarnation;
    delta.version = record.version;
    delta.base = base < editions.whole_below || base >= delta.version ? 0 : base;
    if (delta.base == 0 || editions.card > base) delta.card = wire::card_of(record);
    delta.replicas.reserve(record.replicas.size());
    for (std::size_t i = 0; i < record.replicas.size(); ++i)
        if (delta.base == 0 || editions.replicas[i] > base) delta.replicas.push_back(record.replicas[i]);
    if (delta.base != 0)
        for (const auto& [replica, version] : editions.removed)
            if (version > base) delta.removed.push_back(replica);
    return delta;
}

std::optional<std::size_t> Roster::delta_bytes(const Peer& peer, std::uint64_t base) const {
    const auto* entry = static_cast<const Entry*>(&peer);
    if (entry->record.version == 0) return std::nullopt;
    const auto state = std::tuple(base, told_record(*entry).version, entry->incarnation);
    if (entry->measured_bytes == 0 || entry->measured_state != state) {
        entry->measured_bytes = wire::size_bound(*delta(peer, base));
        entry->measured_state = state;
    }
    return entry->measured_bytes;
}

std::optional<wire::RecordDelta> Roster::notice(PeerId id) const {
    const Entry* entry = find_entry(id);
    if (entry == nullptr || entry->record.version == 0) return std::nullopt;
    wire::RecordDelta notice;
    notice.peer = id;
    notice.generation = entry->record.generation;
    notice.life = entry->life;
    notice.incarnation = entry->incarnation;
    notice.base = notice.version = told_record(*entry).version;
    notice.card = wire::card_of(told_record(*entry));
    return notice;
}

wire::DigestEntry Roster::digest(PeerId id) const {
    return digest(entry(id));
}

wire::DigestEntry Roster::digest(const Peer& peer) const {
    const std::uint64_t version = &peer == own_ ? told_version() : peer.record.version;
    return {peer.record.id, peer.record.generation, peer.incarnation, standing_of(peer.liveness), version};
}

MemberList Roster::members() const {
    if (!members_stale_) return members_;
    MemberList::Members members;
    members.reserve(size());
    for (const auto& entry : peers_) {
        if (entry->hidden) continue;
        if (!entry->published)
            entry->published = std::make_shared<const Member>(
                Member{entry->record, entry->liveness, entry->incarnation, entry->since});
        members.push_back(entry->published);
    }
    members_ = MemberList(std::move(members));
    members_stale_ = false;
    return members_;
}

}  // namespace exa::membership
