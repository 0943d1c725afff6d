// VersionedRecord: one version of a peer's record, with the version in which each of its parts last changed: from
// these, deltas are made. It is immutable: views, and the rosters of one process, share it (InternPool).
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
    // A whole record, its replicas sorted.
    explicit VersionedRecord(wire::PeerRecord whole);
    // From the first delta of a peer, which must have a profile: the whole record, or what the profile alone says, as
    // version 0.
    explicit VersionedRecord(const wire::RecordDelta& first);
    // The version that `delta` makes of `before`. It must start at or below `before` and not be a whole record.
    VersionedRecord(const VersionedRecord& before, const wire::RecordDelta& delta);

    // False when `delta` does not start at or below this version.
    bool leads_on(const wire::RecordDelta& delta) const;
    // Of a version that was made from the same `before`, or from a first delta: true when the constructor would make an
    // equal one from `delta`.
    bool is_made_by(const wire::RecordDelta& delta) const;

    // What turns version `base` into this one; the whole record when that is not known any more. The caller
    // sets its instance and incarnation.
    wire::RecordDelta delta(std::uint64_t base) const;
    // wire::size_bound of that delta, which is not built again for each packet that has no room for it.
    std::size_t delta_bytes(std::uint64_t base, Incarnation incarnation) const;
    // Says which version this is, with the profile. The caller sets its instance and incarnation.
    wire::RecordDelta stub() const;
    // hash64 of the name.
    std::uint64_t name_hash() const { return name_hash_; }

  private:
    void set_profile(const wire::PeerProfile& profile);
    bool has_profile(const wire::PeerProfile& profile) const;
    void merge_replicas(const wire::RecordDelta& delta);

    std::uint64_t name_hash_ = 0;
    std::uint64_t profile_since_ = 0;
    std::vector<std::uint64_t> replicas_since_;  // one for each replica, same order
    std::map<ReplicaId, std::uint64_t> removed_;
    std::uint64_t whole_below_ = 0;  // for bases below this one, delta() is the whole record
    // The last result of delta_bytes() and its arguments. Belongs to the thread that owns the roster or the pool.
    mutable std::optional<std::tuple<std::uint64_t, Incarnation, std::size_t>> measured_;
};

}  // namespace exa::membership
