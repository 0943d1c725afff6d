// VersionedRecord: one version of a peer's record as a roster holds it, and since which version each of its parts is as
// it is; that is what makes deltas. Never changed once made: views, and rosters of one process, share it (InternPool).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "base/ids.h"
#include "wire/gossip.h"
#include "wire/records.h"

namespace exa::membership {

class VersionedRecord : public wire::PeerRecord {
  public:
    // A whole one, its replicas sorted.
    explicit VersionedRecord(wire::PeerRecord whole);
    // What is held of a peer that was unknown, from its first delta, which must have a profile: the whole record, or
    // what the profile alone says, as version 0.
    explicit VersionedRecord(const wire::RecordDelta& first);
    // The version after `delta`, which must lead on from `before` and not be a whole record.
    VersionedRecord(const VersionedRecord& before, const wire::RecordDelta& delta);

    // False when `delta` does not start at or below this version.
    bool leads_on(const wire::RecordDelta& delta) const;
    // For an version that was made of the same `before`, or of the first delta: the constructor would make it again of
    // this delta.
    bool is_made_by(const wire::RecordDelta& delta) const;

    // What turns version `base` into this one; the whole record when that is not known any more. Its instance and
    // incarnation are for the caller to set.
    wire::RecordDelta delta(std::uint64_t base) const;
    // wire::size_bound of that, without making it again for each packet that has no room for it.
    std::size_t delta_bytes(std::uint64_t base, Incarnation incarnation) const;
    // Says which version this is, with the profile; likewise.
    wire::RecordDelta stub() const;
    // hash64 of the name.
    std::uint64_t name_hash() const { return name_hash_; }

  private:
    void set_profile(const wire::PeerProfile& profile);
    bool has_profile(const wire::PeerProfile& profile) const;
    void merge_replicas(const wire::RecordDelta& delta);

    std::uint64_t name_hash_ = 0;
    std::uint64_t profile_since_ = 0;
    std::vector<std::uint64_t> replicas_since_;  // one a replica, same order
    std::map<ReplicaId, std::uint64_t> removed_;
    std::uint64_t whole_below_ = 0;  // from bases below this one only the whole record leads here
    // delta_bytes() as last asked for, and what it was for. Of the thread that owns the roster or the pool.
    mutable std::optional<std::tuple<std::uint64_t, Incarnation, std::size_t>> measured_;
};

}  // namespace exa::membership
