// KvTiers: what a KvService asks beyond its own memory, each behind an interface.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "kv/fetch_cost.h"
#include "kv/messages.h"
#include "kv/segment.h"
#include "kv/segment_buffer.h"
#include "kv/segment_key.h"
#include "kv/value_search.h"
#include "node/kv_replicator.h"

namespace exa::app::kv {

// Hears of one segment after the other, in the order in which they were asked for, from any thread; at last of a null
// one: there are no more. Returns whether it wants more; if not, it hears nothing more. Must not block.
using KvSink = std::function<bool(exa::kv::SealedSegment)>;

// Other peers.
class KvPeers {
  public:
    virtual ~KvPeers() = default;

    struct Arrival {
        std::size_t place = 0;  // in the chain
        exa::kv::SealedSegment segment;
        bool is_cold = false;  // read here, from the cold tier
    };
    // As a KvSink, places ascending. Everything before the place that comes with the null segment is held or was
    // brought.
    using Sink = std::function<bool(Arrival)>;

    // Brings what is missing of `chain`, verified, from peers and what they lack from the cold tier: `held` says, place
    // by place, what is not missing. Thread-safe; does not block.
    virtual void load(std::vector<exa::kv::SegmentKey> chain, std::vector<bool> held, const exa::kv::FetchTerms& terms,
                      Sink sink) = 0;
    // This peer has it now, and has stored it: others that should have it may want it. Thread-safe; does not block.
    virtual void handle_stored(const exa::kv::SegmentHead& head, exa::kv::SealedSegment segment) = 0;
    // The disk here has lost it: what this peer owns is brought back and stored. Thread-safe; does not block.
    virtual void recover(const exa::kv::SegmentKey& key) = 0;
    // How many of the keys are on their way; nothing: that peer is out of reach, or keeps no KV.
    using Moved = std::function<void(std::optional<std::size_t> queued)>;
    // Gives what is stored here under `keys` to that peer, whoever their owners are; what is not here, is a value,
    // or has no room in the queue, is left out. Calls `done` once, from any thread, or never when the peer ends.
    // Thread-safe; does not block.
    virtual void move(PeerId to, std::vector<exa::kv::SegmentKey> keys, Moved done) = 0;
    // Somebody else keeps KV and is in reach. Thread-safe.
    virtual bool has_others() const = 0;
    // Which version of each of `values` is the last, and who has it. Calls `done` once, from another thread, or never
    // when the peer ends. Thread-safe; does not block.
    using Found = std::function<void(std::vector<exa::kv::ValueVerdict>)>;
    virtual void find(std::vector<exa::kv::KnownValue> values, Found done) = 0;
    // Brings one segment of the item's stamp or a later one from one of `holders`, verified; null: nobody gave it. As
    // find() calls `done`.
    using Fetched = std::function<void(exa::kv::SealedSegment)>;
    virtual void fetch(const exa::kv::Item& item, std::vector<PeerId> holders, Fetched done) = 0;
    // Thread-safe.
    virtual node::KvReplicatorStatus status() const = 0;
};

struct KvValuesStats {
    std::uint64_t memory_values = 0;
    std::uint64_t memory_bytes = 0;
    std::uint64_t queued_values = 0;  // that wait for the disk
    std::uint64_t queued_bytes = 0;
    std::uint64_t sets = 0;
    std::uint64_t sets_unmet = 0;  // NX or XX did not hold
    std::uint64_t set_bytes = 0;
    std::uint64_t stored = 0;
    std::uint64_t overwritten = 0;  // before they were stored
    std::uint64_t hits_memory = 0;  // of GET, MGET, STRLEN: keys
    std::uint64_t hits_disk = 0;
    std::uint64_t hits_peers = 0;
    std::uint64_t misses = 0;
    std::uint64_t got_bytes = 0;
    std::uint64_t existing = 0;  // keys asked for by EXISTS that are there
    std::uint64_t not_existing = 0;
    std::uint64_t removed = 0;
    std::uint64_t not_removed = 0;  // keys of DEL and UNLINK that were not there
    std::uint64_t scans = 0;
    std::uint64_t refused = 0;   // for want of memory, or by the disk
    std::uint64_t searches = 0;  // operations for which owners were asked
    std::uint64_t unsure = 0;    // of them, those in which not every owner answered
};

// Values of the Redis port in this peer's memory, as its KV service asks about them for other peers. Thread-safe.
class KvValues {
  public:
    virtual ~KvValues() = default;

    // Its size is 0 when what is in memory is a removal.
    virtual std::optional<exa::kv::Item> find(const exa::kv::SegmentKey& key) const = 0;
    // Of a value or a part of one, sealed; null: it is not in memory. May take as long as sealing does.
    virtual exa::kv::SealedSegment get(const exa::kv::SegmentKey& key) = 0;
    // The owners of this version have it or a later one.
    virtual void handle_acked(const exa::kv::Item& item) = 0;
    // A stamp that another peer has given.
    virtual void observe(std::uint64_t stamp) = 0;
    virtual KvValuesStats stats() const = 0;
};

}  // namespace exa::app::kv
