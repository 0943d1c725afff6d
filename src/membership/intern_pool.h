// InternPool: one object for all peers of a process that hold the same record or the same loads. In the simulator, n
// peers then keep and compare n records instead of n^2.
//
// Equal versions are not enough: what is shared has been compared, so that a forged record is never taken for the true
// one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/flat_map.h"
#include "base/ids.h"
#include "membership/versioned_record.h"
#include "wire/gossip.h"

namespace exa::membership {

using LoadReports = std::vector<wire::LoadReport>;

// For one thread. Keeps nothing alive.
class InternPool {
  public:
    // As the constructors of VersionedRecord make it (null `before`: from a first delta), or the same object again.
    std::shared_ptr<const VersionedRecord> record(const std::shared_ptr<const VersionedRecord>& before,
                                                  const wire::RecordDelta& delta);
    // The group's reports with no age, or the same object again.
    std::shared_ptr<const LoadReports> loads(const wire::LoadGroup& group);

  private:
    struct Record {
        std::uint64_t version = 0;
        Generation generation;
        std::weak_ptr<const VersionedRecord> before;  // empty: made from a first delta or a whole record
        std::weak_ptr<const VersionedRecord> held;
    };
    struct Loads {
        Generation generation;
        std::uint64_t number = 0;
        std::uint16_t part = 0;
        std::weak_ptr<const LoadReports> held;
    };
    struct IdHash {
        std::uint64_t operator()(PeerId id) const { return mix64(id.value); }
    };
    template <class T>
    static std::vector<T>& of_peer(FlatMap<PeerId, std::vector<T>, IdHash>& map, PeerId peer);

    // By peer: what is held somewhere, and some that nobody holds any more.
    FlatMap<PeerId, std::vector<Record>, IdHash> records_;
    FlatMap<PeerId, std::vector<Loads>, IdHash> loads_;
};

// The record after `delta`, shared when there is a pool (which may be null).
std::shared_ptr<const VersionedRecord> make_record(InternPool* pool,
                                                   const std::shared_ptr<const VersionedRecord>& before,
                                                   const wire::RecordDelta& delta);
// The group's reports with no age, likewise.
std::shared_ptr<const LoadReports> make_loads(InternPool* pool, const wire::LoadGroup& group);

}  // namespace exa::membership
