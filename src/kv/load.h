// Load: brings the segments of one chain that are missing here from the peers that keep them.
//
// Each owner in reach is asked once which of its keys it has, all of them together. Then the longest run from the
// chain's begin of which every segment is here or with somebody is fetched, from several owners at the same time, and
// handed out in the chain's order. What fails is tried with another holder; when none is left, the run ends there. So
// what is handed out is a prefix, always.
//
// With a cold tier, a directory that all peers share, the place where the run ends is looked for there, together with
// what else nobody has; what is there goes on the run. Among peers that want it at the same time the first owner in
// reach reads it for all, and keeps it: it is asked as if it had it. Only if that fails it is read here.
//
// Bytes that were asked for and not handed out yet stay within a window, so that one long chain does not fill the
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

struct LoadConfig {
    std::uint64_t window_bytes = 64 << 20;  // sealed, of one load; one segment may exceed it
    std::uint64_t fetch_bytes = 8 << 20;    // of one question
    bool has_cold = false;
};

class Load {
  public:
    // Which keys, by their places in the chain, one peer is to be asked for.
    struct Asks {
        PeerId to;
        std::vector<std::uint32_t> places;  // ascending, question_items_max at most
    };

    // `held` says which of `chain` are here already, place by place; those are never asked for or handed out.
    Load(std::vector<SegmentKey> chain, std::vector<bool> held, PeerId self, const Placement& placement,
         const LoadConfig& config);

    const SegmentKey& key(std::uint32_t place) const { return segments_[place].key; }

    // The questions to begin with, as they are drawn from it: one or a few for each owner.
    std::optional<Asks> next_look();
    // The answer to a look, an item for each of its places; or that there is none. Unexpected ones change nothing.
    void looked(const Asks& look, std::span<const Item> items);
    void look_failed();
    bool is_looking() const { return looks_open_ > 0 || !looks_.empty(); }

    // After the looks: which places to look for in the cold tier now. Ask again whenever something has arrived or
    // failed.
    std::optional<std::vector<std::uint32_t>> next_cold_look();
    // The answer, an item for each of the places; without one, they are not there.
    void looked_cold(std::span<const std::uint32_t> places, std::span<const Item> items);
    void cold_look_failed();

    // After the looks: what to fetch now; from this peer itself: from the cold tier. Ask again after each arrival.
    std::optional<Asks> next_fetch();
    // A verified segment, or null for one that is not there or not good. Each place of a fetch arrives or fails once.
    void arrived(PeerId from, std::uint32_t place, SealedSegment segment);

    struct Given {
        std::uint32_t place;
        SealedSegment segment;
        bool is_cold = false;  // read here from the cold tier
    };
    // In the order of the chain.
    std::optional<Given> next_given();
    // Everything that can be had has been handed out.
    bool is_over() const { return !is_looking() && !cold_look_open_ && next_ == reach_ && !wants_cold_look(); }
    // Places below it are here or were handed out. After is_over(), the length of the prefix.
    std::uint32_t given() const { return next_; }

  private:
    enum class State : std::uint8_t { held, missing, asked, here, given };
    struct Source {
        PeerId peer;
        std::uint32_t bytes;
    };
    struct Segment {
        SegmentKey key;
        State state = State::missing;
        std::vector<Source> sources;  // that have it and were not tried yet
        std::uint32_t bytes = 0;      // of the window, while it is asked or here
        SealedSegment arrived;
        PeerId reader;                 // who reads it from the cold tier
        std::uint32_t cold_bytes = 0;  // 0: it is not there
        bool is_cold_asked = false;
        bool is_cold = false;  // it arrived from there
    };

    void find_reach();
    bool wants_cold_look() const {
        return config_.has_cold && reach_ < segments_.size() && !segments_[reach_].is_cold_asked;
    }

    const PeerId self_;
    const LoadConfig config_;
    std::vector<Segment> segments_;
    std::vector<Asks> looks_;  // to be sent, the last one first
    std::size_t looks_open_ = 0;
    bool cold_look_open_ = false;
    std::uint32_t reach_ = 0;  // the run ends before this place
    std::uint32_t next_ = 0;   // to be handed out
    std::uint64_t window_ = 0;
    std::vector<std::pair<PeerId, std::uint64_t>> busy_;  // bytes that are asked of whom
};

}  // namespace exa::kv
