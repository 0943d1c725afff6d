#include "membership/roster.h"

#include <algorithm>

#include "base/check.h"

namespace exa::membership {

namespace {

// Removed replicas are remembered up to this many a peer; more and older bases get the whole record.
constexpr std::size_t removed_max = 64;

void set_card(wire::PeerRecord& record, const wire::Card& card) {
    record.name = card.name;
    record.state = card.state;
    record.gossip = card.gossip;
    record.link = card.link;
    record.http = card.http;
    record.region = card.region;
    record.rack = card.rack;
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
    Peer& peer = peers_[self_];
    peer.record = self;
    peer.life = life;
    peer.since = now;
    Editions& editions = editions_[self_];
    editions.card = editions.whole_below = self.version;
    for (const auto& replica : self.replicas) editions.replicas[replica.id] = self.version;
    index(self_, peer);
}

const Peer* Roster::find(PeerId id) const {
    const auto at = peers_.find(id);
    return at == peers_.end() ? nullptr : &at->second;
}

void Roster::index(PeerId id, const Peer& peer) {
    if (peer.is_live()) names_.emplace(peer.record.name, id);
    if (is_gone(peer.liveness)) gone_.emplace(peer.since, id);
    if (id == self_) return;
    if (peer.is_live()) {
        live_at_[id] = live_.size();
        live_.push_back(id);
    } else if (peer.liveness != Liveness::left) {
        dead_.emplace(peer.since, id);
    }
}

void Roster::unindex(PeerId id, const Peer& peer) {
    names_.erase({peer.record.name, id});
    gone_.erase({peer.since, id});
    dead_.erase({peer.since, id});
    published_.erase(id);
    const auto at = live_at_.find(id);
    if (at == live_at_.end()) return;
    const std::size_t place = at->second;
    live_at_.erase(at);
    if (live_.back() != id) {
        live_[place] = live_.back();
        live_at_[live_[place]] = place;
    }
    live_.pop_back();
}

// The record after the delta, or nothing when it does not start at or below the held edition.
std::optional<Roster::Editions> Roster::merge(const wire::RecordDelta& delta, wire::PeerRecord& record,
                                              Editions editions) {
    const std::uint64_t version = delta.version;
    if (delta.base == 0) {
        set_card(record, *delta.card);
        record.replicas = delta.replicas;
        record.version = version;
        editions = {version, {}, {}, version};
        for (const auto& replica : record.replicas) editions.replicas[replica.id] = version;
        return editions;
    }
    if (record.version == 0 || record.version < delta.base || delta.base == version) return std::nullopt;
    if (delta.card) {
        set_card(record, *delta.card);
        editions.card = version;
    }
    std::map<ReplicaId, wire::ReplicaRecord> replicas;
    for (auto& replica : record.replicas) replicas.emplace(replica.id, std::move(replica));
    for (const auto& replica : delta.replicas) {
        replicas[replica.id] = replica;
        editions.replicas[replica.id] = version;
        editions.removed.erase(replica.id);
    }
    for (const ReplicaId& id : delta.removed) {
        replicas.erase(id);
        editions.replicas.erase(id);
        editions.removed[id] = version;
    }
    if (editions.removed.size() > removed_max) {
        editions.removed.clear();
        editions.whole_below = version;
    }
    record.replicas.clear();
    for (auto& [id, replica] : replicas) record.replicas.push_back(std::move(replica));
    record.version = version;
    return editions;
}

Roster::Applied Roster::apply(TimePoint now, const wire::RecordDelta& delta, wire::Standing standing) {
    EXA_CHECK(delta.peer != self_);
    const auto known = peers_.find(delta.peer);
    if (known != peers_.end() && delta.generation < known->second.record.generation) return Applied::stale;
    if (known == peers_.end() || delta.generation > known->second.record.generation) {
        if (!delta.card) return Applied::gap;
        if (known == peers_.end() && peers_.size() >= peers_max_) return Applied::full;
        Peer peer;
        peer.record.id = delta.peer;
        peer.record.generation = delta.generation;
        peer.life = delta.life;
        peer.liveness = liveness_of(standing);
        peer.incarnation = delta.incarnation;
        peer.since = now;
        set_card(peer.record, *delta.card);
        const auto editions = merge(delta, peer.record, {});
        if (known != peers_.end()) unindex(delta.peer, known->second);
        editions_[delta.peer] = editions.value_or(Editions{});
        const Peer& stored = peers_[delta.peer] = std::move(peer);
        index(delta.peer, stored);
        return known != peers_.end() ? Applied::reborn : Applied::created;
    }
    Peer& peer = known->second;
    if (delta.life != peer.life) return Applied::clash;
    if (delta.version <= peer.record.version) return Applied::stale;
    wire::PeerRecord record = peer.record;
    auto editions = merge(delta, record, editions_[delta.peer]);
    if (!editions) return Applied::gap;
    // Each delta was within bounds; many on top of one another need not be.
    if (wire::check_record(record).has_error()) return Applied::full;
    unindex(delta.peer, peer);
    peer.record = std::move(record);
    editions_[delta.peer] = std::move(*editions);
    index(delta.peer, peer);
    return Applied::changed;
}

void Roster::set_self(const wire::PeerRecord& record) {
    Peer& peer = peers_.at(self_);
    wire::RecordDelta delta;
    delta.base = peer.record.version;
    delta.version = peer.record.version + 1;
    if (wire::card_of(record) != wire::card_of(peer.record)) delta.card = wire::card_of(record);
    std::map<ReplicaId, const wire::ReplicaRecord*> before;
    for (const auto& replica : peer.record.replicas) before.emplace(replica.id, &replica);
    for (const auto& replica : record.replicas) {
        const auto at = before.find(replica.id);
        if (at == before.end() || *at->second != replica) delta.replicas.push_back(replica);
        if (at != before.end()) before.erase(at);
    }
    for (const auto& [id, replica] : before) delta.removed.push_back(id);
    unindex(self_, peer);
    auto editions = merge(delta, peer.record, editions_[self_]);
    EXA_CHECK(editions.has_value());
    editions_[self_] = std::move(*editions);
    index(self_, peer);
}

void Roster::set_liveness(TimePoint now, PeerId id, Liveness liveness, Incarnation incarnation, PeerId accuser) {
    Peer& peer = peers_.at(id);
    unindex(id, peer);
    if (peer.liveness != liveness) peer.since = now;
    if (liveness != Liveness::suspect) peer.suspicion.reset();
    peer.liveness = liveness;
    peer.incarnation = incarnation;
    peer.accuser = accuser;
    index(id, peer);
}

void Roster::forget(PeerId id) {
    EXA_CHECK(id != self_);
    const auto at = peers_.find(id);
    if (at == peers_.end()) return;
    unindex(id, at->second);
    editions_.erase(id);
    peers_.erase(at);
}

std::optional<PeerId> Roster::surplus(std::size_t most) const {
    if (gone_.size() <= most) return std::nullopt;
    for (const auto& [since, id] : gone_)
        if (id != self_) return id;
    return std::nullopt;
}

std::optional<PeerId> Roster::namesake(PeerId id) const {
    const std::string& name = peers_.at(id).record.name;
    for (auto at = names_.lower_bound({name, PeerId{}}); at != names_.end() && at->first == name; ++at)
        if (at->second != id) return at->second;
    return std::nullopt;
}

wire::Fact Roster::fact(PeerId id) const {
    const Peer& peer = peers_.at(id);
    return {id, peer.record.generation, peer.incarnation, standing_of(peer.liveness), peer.accuser};
}

std::optional<wire::RecordDelta> Roster::delta(PeerId id, std::uint64_t base) const {
    const auto at = peers_.find(id);
    if (at == peers_.end() || at->second.record.version == 0) return std::nullopt;
    const Peer& peer = at->second;
    const Editions& editions = editions_.at(id);
    wire::RecordDelta delta;
    delta.peer = id;
    delta.generation = peer.record.generation;
    delta.life = peer.life;
    delta.incarnation = peer.incarnation;
    delta.version = peer.record.version;
    delta.base = base < editions.whole_below || base >= delta.version ? 0 : base;
    if (delta.base == 0 || editions.card > base) delta.card = wire::card_of(peer.record);
    for (const auto& replica : peer.record.replicas)
        if (delta.base == 0 || editions.replicas.at(replica.id) > base) delta.replicas.push_back(replica);
    if (delta.base != 0)
        for (const auto& [replica, version] : editions.removed)
            if (version > base) delta.removed.push_back(replica);
    return delta;
}

std::optional<wire::RecordDelta> Roster::notice(PeerId id) const {
    const auto at = peers_.find(id);
    if (at == peers_.end() || at->second.record.version == 0) return std::nullopt;
    const Peer& peer = at->second;
    wire::RecordDelta notice;
    notice.peer = id;
    notice.generation = peer.record.generation;
    notice.life = peer.life;
    notice.incarnation = peer.incarnation;
    notice.base = notice.version = peer.record.version;
    notice.card = wire::card_of(peer.record);
    return notice;
}

wire::DigestEntry Roster::digest(PeerId id) const {
    const Peer& peer = peers_.at(id);
    return {id, peer.record.generation, peer.incarnation, standing_of(peer.liveness), peer.record.version};
}

std::vector<std::shared_ptr<const Member>> Roster::members() const {
    std::vector<std::shared_ptr<const Member>> members;
    members.reserve(peers_.size());
    for (const auto& [id, peer] : peers_) {
        if (peer.hidden) continue;
        auto& published = published_[id];
        if (!published)
            published =
                std::make_shared<const Member>(Member{peer.record, peer.liveness, peer.incarnation, peer.since});
        members.push_back(published);
    }
    return members;
}

}  // namespace exa::membership
