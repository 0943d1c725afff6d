// KvTiers: what a KvService asks beyond its own memory, each behind an interface.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "io/store/segment_store.h"
#include "kv/repair.h"
#include "kv/segment_buffer.h"
#include "kv/segment_key.h"
#include "kv/spread.h"

namespace exa::app {

// Hears of one segment after the other, in the order in which they were asked for, from any thread; at last of a null
// one: there are no more. Returns whether it wants more; if not, it hears nothing more. Must not block.
using KvSink = std::function<bool(kv::SealedSegment)>;

struct KvPeersStats {
    bool settled = false;       // all that is here is where it shall be, as far as that can be
    bool given_away = false;    // and this peer owns nothing
    std::uint64_t waiting = 0;  // offers to others that are not settled
    kv::SpreadCounters spread;
    kv::RepairProgress repair;
    std::uint64_t fetched = 0;  // segments that came from others
    std::uint64_t fetched_bytes = 0;
    std::uint64_t corrupt = 0;  // of these, those that did not verify
};

// Other peers.
class KvPeers {
  public:
    virtual ~KvPeers() = default;

    // As a KvSink, with the place of each segment in the chain, ascending. Everything before the place that comes with
    // the null segment is held or was brought.
    using Sink = std::function<bool(std::size_t place, kv::SealedSegment)>;

    // Brings what is missing of `chain`, verified: `held` says, place by place, what is not. Thread-safe; does not
    // block.
    virtual void load(std::vector<kv::SegmentKey> chain, std::vector<bool> held, Sink sink) = 0;
    // This peer has it now, and has stored it: others that should have it may want it. Thread-safe; does not block.
    virtual void handle_stored(const kv::SegmentHead& head, kv::SealedSegment segment) = 0;
    // How many of the keys are on their way; nothing: that peer is out of reach, or keeps no KV.
    using Moved = std::function<void(std::optional<std::size_t> queued)>;
    // Gives what is stored here under `keys` to that peer, whoever their owners are; what is not here, or has no room
    // in the queue, is left out. Calls `done` once, from any thread, or never when the peer ends. Thread-safe; does not
    // block.
    virtual void move(PeerId to, std::vector<kv::SegmentKey> keys, Moved done) = 0;
    // Thread-safe.
    virtual KvPeersStats stats() const = 0;
};

// What outlives the process; calls block on a disk. Thread-safe.
class KvDisk {
  public:
    virtual ~KvDisk() = default;

    virtual std::vector<io::PutOutcome> put(WallTime now, std::span<const kv::SealedSegment> segments) = 0;
    // Verified. Null is a miss.
    virtual kv::SealedSegment get(WallTime now, const kv::SegmentKey& key) = 0;
    // From memory; what is here counts as used.
    virtual bool has(WallTime now, const kv::SegmentKey& key) = 0;
    // From memory, and not counted.
    virtual std::optional<io::StoredInfo> find(const kv::SegmentKey& key) const = 0;
    // The sealed size of each, 0 where nothing is here, from memory; what is here is held for a moment, so that a get
    // finds it.
    virtual std::vector<std::uint32_t> look(WallTime now, std::span<const kv::SegmentKey> keys) = 0;
    // Up to `limit` behind `after`, in the order of keys.
    virtual std::vector<io::StoredInfo> list(const std::optional<kv::SegmentKey>& after, std::size_t limit) const = 0;
    virtual std::size_t erase(std::span<const kv::SegmentKey> keys) = 0;
    virtual void maintain(WallTime now) = 0;
    virtual io::ScrubReport scrub(std::size_t count) = 0;
    virtual io::StoreStats stats() const = 0;
    // As of io::SegmentStore.
    virtual void set_quota(std::uint64_t tenant, std::uint64_t bytes) = 0;
    virtual std::uint64_t tenant_bytes(std::uint64_t tenant) const = 0;
};

}  // namespace exa::app
