#include "membership/versioned_record.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/hash.h"

namespace exa::membership {

namespace {

// Removed replicas are remembered up to this many a peer; more and older bases get the whole record.
constexpr std::size_t removed_max = 64;

}  // namespace

VersionedRecord::VersionedRecord(wire::PeerRecord whole)
    : wire::PeerRecord(std::move(whole)),
      name_hash_(hash64(as_bytes(name))),
      profile_since_(version),
      replicas_since_(replicas.size(), version),
      whole_below_(version) {}

VersionedRecord::VersionedRecord(const wire::RecordDelta& first) {
    id = first.peer;
    generation = first.generation;
    set_profile(*first.profile);
    if (first.base != 0) return;
    version = first.version;
    replicas = first.replicas;
    profile_since_ = version;
    replicas_since_.assign(replicas.size(), version);
    whole_below_ = version;
}

VersionedRecord::VersionedRecord(const VersionedRecord& before, const wire::RecordDelta& delta)
    : VersionedRecord(before) {
    EXA_CHECK(delta.base != 0 && leads_on(delta));
    measured_.reset();
    if (delta.profile) {
        set_profile(*delta.profile);
        profile_since_ = delta.version;
    }
    merge_replicas(delta);
    version = delta.version;
}

void VersionedRecord::set_profile(const wire::PeerProfile& profile) {
    name = profile.name;
    state = profile.state;
    gossip = profile.gossip;
    link = profile.link;
    http = profile.http;
    region = profile.region;
    rack = profile.rack;
    keys = profile.keys;
    primary_key = profile.primary_key;
    kv_gib = profile.kv_gib;
    name_claim = profile.name_claim;
    name_support = profile.name_support;
    name_hash_ = hash64(as_bytes(name));
}

bool VersionedRecord::has_profile(const wire::PeerProfile& profile) const {
    return name == profile.name && state == profile.state && gossip == profile.gossip && link == profile.link &&
           http == profile.http && region == profile.region && rack == profile.rack && keys == profile.keys &&
           primary_key == profile.primary_key && kv_gib == profile.kv_gib && name_claim == profile.name_claim &&
           name_support == profile.name_support;
}

void VersionedRecord::merge_replicas(const wire::RecordDelta& delta) {
    const auto place_of = [&](const ReplicaId& replica) {
        return std::ranges::lower_bound(replicas, replica, {}, &wire::ReplicaRecord::id) - replicas.begin();
    };
    const auto stands_at = [&](std::ptrdiff_t at, const ReplicaId& replica) {
        return at < std::ssize(replicas) && replicas[static_cast<std::size_t>(at)].id == replica;
    };
    for (const wire::ReplicaRecord& replica : delta.replicas) {
        const auto at = place_of(replica.id);
        if (stands_at(at, replica.id)) {
            replicas[static_cast<std::size_t>(at)] = replica;
            replicas_since_[static_cast<std::size_t>(at)] = delta.version;
        } else {
            replicas.insert(replicas.begin() + at, replica);
            replicas_since_.insert(replicas_since_.begin() + at, delta.version);
        }
        removed_.erase(replica.id);
    }
    for (const ReplicaId& replica : delta.removed) {
        if (const auto at = place_of(replica); stands_at(at, replica)) {
            replicas.erase(replicas.begin() + at);
            replicas_since_.erase(replicas_since_.begin() + at);
        }
        removed_[replica] = delta.version;
    }
    if (removed_.size() > removed_max) {
        removed_.clear();
        whole_below_ = delta.version;
    }
}

bool VersionedRecord::leads_on(const wire::RecordDelta& delta) const {
    return delta.base == 0 || (version != 0 && version >= delta.base && delta.base != delta.version);
}

bool VersionedRecord::is_made_by(const wire::RecordDelta& delta) const {
    if (id != delta.peer || generation != delta.generation) return false;
    if (version == 0) return delta.base != 0 && delta.profile && has_profile(*delta.profile);
    if (version != delta.version) return false;
    if (delta.base == 0) return whole_below_ == version && has_profile(*delta.profile) && replicas == delta.replicas;
    if (delta.profile.has_value() != (profile_since_ == version) || (delta.profile && !has_profile(*delta.profile)))
        return false;
    // What is older than the delta is as it was before in both, so only its own parts are looked at.
    auto changed = delta.replicas.begin();
    for (std::size_t i = 0; i < replicas.size(); ++i) {
        if (replicas_since_[i] != version) continue;
        if (changed == delta.replicas.end() || *changed != replicas[i]) return false;
        ++changed;
    }
    auto removed = delta.removed.begin();
    for (const auto& [replica, since] : removed_) {
        if (since != version) continue;
        if (removed == delta.removed.end() || *removed != replica) return false;
        ++removed;
    }
    return changed == delta.replicas.end() && removed == delta.removed.end();
}

wire::RecordDelta VersionedRecord::delta(std::uint64_t base) const {
    wire::RecordDelta delta;
    delta.peer = id;
    delta.generation = generation;
    delta.version = version;
    delta.base = base < whole_below_ || base >= version ? 0 : base;
    if (delta.base == 0 || profile_since_ > base) delta.profile = wire::profile_of(*this);
    delta.replicas.reserve(replicas.size());
    for (std::size_t i = 0; i < replicas.size(); ++i)
        if (delta.base == 0 || replicas_since_[i] > base) delta.replicas.push_back(replicas[i]);
    if (delta.base != 0)
        for (const auto& [replica, since] : removed_)
            if (since > base) delta.removed.push_back(replica);
    return delta;
}

std::size_t VersionedRecord::delta_bytes(std::uint64_t base, Incarnation incarnation) const {
    if (!measured_ || std::get<0>(*measured_) != base || std::get<1>(*measured_) != incarnation) {
        wire::RecordDelta made = delta(base);
        made.incarnation = incarnation;
        measured_ = std::tuple(base, incarnation, wire::size_bound(made));
    }
    return std::get<2>(*measured_);
}

wire::RecordDelta VersionedRecord::stub() const {
    wire::RecordDelta stub;
    stub.peer = id;
    stub.generation = generation;
    stub.base = stub.version = version;
    stub.profile = wire::profile_of(*this);
    return stub;
}

}  // namespace exa::membership
