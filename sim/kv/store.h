// KvStore: a model of the disk store of one host's KV segments, with the index of production (kv::StoreIndex) and what
// disks do wrong: writes that a power cut tears, bits that rot, writes that land in another's place, a full or slow
// disk.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/rng.h"
#include "base/time.h"
#include "kv/holdings.h"
#include "kv/segment.h"
#include "kv/store_index.h"
#include "sim/disk/disk.h"

namespace exa::sim {

struct KvStoreEffects {
    std::uint64_t stored = 0;
    std::uint64_t evicted = 0;
    std::uint64_t refused_full = 0;
    std::uint64_t dropped = 0;  // did not verify when it was read
    std::uint64_t lost = 0;     // writes that a crash took
    std::uint64_t rotten = 0;
    std::uint64_t misdirected = 0;
};

class KvStore final : public kv::Holdings {
  public:
    // `sealer` and `disk` outlive it. `capacity` in bytes, as StoreLimits has it.
    KvStore(const kv::SegmentSealer& sealer, Disk& disk, std::uint64_t capacity, Rng rng);

    // What is wholly on the disk.
    std::optional<kv::Item> find(const kv::SegmentKey& key) const override;
    std::vector<kv::Item> list(const std::optional<kv::SegmentKey>& after, std::size_t limit) const override;

    enum class Begun : std::uint8_t { writing, present, refused };
    // A write that begins is on the disk when finish() is called, and lost when a crash comes first; so is a second
    // one of the same segment, which joins it. Evicted keys are added to `gone`.
    Begun begin(WallTime now, const kv::SealedSegment& segment, std::vector<kv::SegmentKey>& gone);
    void finish(WallTime now, const kv::SegmentKey& key);
    // Verified. Null is a miss; what does not verify is dropped.
    kv::SealedSegment get(WallTime now, const kv::SegmentKey& key);

    // Verifies the next `count` in the order of keys, round and round; those that were bad, and are dropped.
    std::vector<kv::SegmentKey> scrub(std::size_t count);

    void crash();
    // All that was held.
    std::vector<kv::SegmentKey> wipe();
    // One bit of one stored segment changes. False: there is none.
    bool rot();
    // The next write lands in the place of another segment.
    void misdirect() { misdirects_ = true; }

    std::uint64_t physical_bytes() const { return index_.physical_bytes(); }
    std::uint64_t capacity() const { return capacity_; }
    const KvStoreEffects& effects() const { return effects_; }

  private:
    static kv::StoreEntry entry_of(const kv::SegmentBuffer& segment);
    void drop(const kv::SegmentKey& key);

    const kv::SegmentSealer& sealer_;
    Disk& disk_;
    const std::uint64_t capacity_;
    Rng rng_;
    kv::StoreIndex index_;
    std::map<kv::SegmentKey, kv::SealedSegment> stored_;
    std::map<kv::SegmentKey, kv::SealedSegment> writing_;
    bool misdirects_ = false;
    kv::SegmentKey scrubbed_{};
    KvStoreEffects effects_;
};

}  // namespace exa::sim
