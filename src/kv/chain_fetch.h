// ChainFetch: fetches the segments of one chain that are missing here from the peers that keep them.
//
// Each owner in reach gets one lookup with all of its keys. Then the longest run from the start of the chain in which
// every segment is here or has a source is fetched, from several owners at the same time, and delivered in the order of
// the chain. A segment that fails is tried with another holder; when none is left, the run ends there. So what is
// delivered is always a prefix.
//
// With a cold tier, a directory that all peers share, the segment at which the run ends is looked up there, together
// with everything else that nobody has; what is there extends the run. Among peers that need it at the same time the
// first owner in reach reads it for all and keeps it: it is asked as if it had it. Only if that fails, this peer reads
// it itself.
//
// Bytes that were asked for and not delivered yet stay within a window, so that one long chain does not fill the
// memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/ids.h"
#include "kv/messages.h"
#include "kv/placement.h"
#include "kv/segment_buffer.h"

namespace exa::kv {

struct ChainFetchConfig {
    std::uint64_t window_bytes = 64 << 20;  // sealed, of one chain; a single segment may exceed it
    std::uint64_t fetch_bytes = 8 << 20;    // of one question
    bool has_cold = false;
};

class ChainFetch {
  public:
    // What to ask one peer for, as places in the chain.
    struct Asks {
        PeerId to;
        std::vector<std::uint32_t> places;  // ascending, question_items_max at most
    };

    // `held` says, place by place, which segments of `chain` are here; those are neither asked for nor delivered.
    ChainFetch(std::vector<SegmentKey> chain, std::vector<bool> held, PeerId self, const Placement& placement,
               const ChainFetchConfig& config);

    const SegmentKey& key(std::uint32_t place) const { return segments_[place].key; }

    // The lookups to begin with: one or a few for each owner.
    std::optional<Asks> next_lookup();
    // The answer to a lookup, an item for each of its places. Items that were not asked for change nothing.
    void handle_lookup(const Asks& look, std::span<const Item> items);
    void handle_lookup_failed();
    bool is_looking_up() const { return lookups_open_ > 0 || !lookups_.empty(); }

    // After the lookups: which places to look up in the cold tier now. Call it again whenever a segment has arrived or
    // failed.
    std::optional<std::vector<std::uint32_t>> next_cold_lookup();
    // The answer, an item for each of the places.
    void handle_cold_lookup(std::span<const std::uint32_t> places, std::span<const Item> items);
    void handle_cold_lookup_failed();

    // After the lookups: what to fetch now; from this peer itself means from the cold tier. Call it again after each
    // arrival.
    std::optional<Asks> next_fetch();
    // A verified segment, or null for one that is not there or did not verify. Each place of a fetch arrives once.
    void arrived(PeerId from, std::uint32_t place, SealedSegment segment);

    struct Delivery {
        std::uint32_t place;
        SealedSegment segment;
        bool is_cold = false;  // this peer read it from the cold tier
    };
    // In the order of the chain.
    std::optional<Delivery> next_delivery();
    // Everything that can be fetched has been delivered.
    bool is_over() const { return !is_looking_up() && !cold_lookup_open_ && next_ == reach_ && !needs_cold_lookup(); }
    // Every place below it is held or has been delivered. After is_over(), the length of the prefix.
    std::uint32_t delivered() const { return next_; }

  private:
    enum class State : std::uint8_t { held, missing, asked, here, delivered };
    struct Source {
        PeerId peer;
        std::uint32_t bytes;
    };
    struct Segment {
        SegmentKey key;
        State state = State::missing;
        std::vector<Source> sources;  // peers that have it and were not tried yet
        std::uint32_t bytes = 0;      // counted in the window while it is asked or here
        SealedSegment arrived;
        PeerId reader;                 // the peer that reads it from the cold tier
        std::uint32_t cold_bytes = 0;  // 0: it is not there
        bool is_cold_asked = false;
        bool is_cold = false;  // it came from there
    };

    void find_reach();
    bool needs_cold_lookup() const {
        return config_.has_cold && reach_ < segments_.size() && !segments_[reach_].is_cold_asked;
    }

    const PeerId self_;
    const ChainFetchConfig config_;
    std::vector<Segment> segments_;
    std::vector<Asks> lookups_;  // not sent yet, the next one last
    std::size_t lookups_open_ = 0;
    bool cold_lookup_open_ = false;
    std::uint32_t reach_ = 0;  // the run ends before this place
    std::uint32_t next_ = 0;   // place to be delivered next
    std::uint64_t window_ = 0;
    std::vector<std::pair<PeerId, std::uint64_t>> busy_;  // bytes that each peer is asked for
};

}  // namespace exa::kv
