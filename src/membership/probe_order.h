// ProbeOrder: which peer to probe in which round.
//
// SWIM (section 4.3) has each observer visit all others once, each in a shuffle of its own: a peer is then probed about
// once an interval, but at the pace of a Poisson process, and in one case of a hundred nobody looks at a crashed peer
// for 4.6 intervals. Here all observers take the same step in the same round: with n live peers in order of their ids,
// the i-th probes the one at i + step(round). So every peer is probed by exactly one other in each round, the
// wait for a first probe is less than two intervals, and n - 1 rounds still visit everyone. Observers whose views
// differ for a moment are off by one, which costs a probe and nothing else. Rounds are kept in step by
// ProbeRounds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "membership/roster.h"

namespace exa::membership {

// The number of the probe round, which pings carry: a logical clock (Lamport 1978) that ticks once an interval.
// Numbers wrap and are compared as RFC 1982 does.
class ProbeRounds {
  public:
    // The round in another peer's ping. It counts from the next tick on, so that a round lasts one interval of the
    // fastest peer, however many peers tick.
    void hear(std::uint32_t round) {
        if (is_later(round, heard_)) heard_ = round;
    }
    std::uint32_t tick() {
        ++now_;
        if (is_later(heard_, now_)) now_ = heard_;
        heard_ = now_;
        return now_;
    }
    std::uint32_t now() const { return now_; }

  private:
    static bool is_later(std::uint32_t a, std::uint32_t b) { return static_cast<std::int32_t>(a - b) > 0; }

    std::uint32_t now_ = 0;
    std::uint32_t heard_ = 0;
};

class ProbeOrder {
  public:
    // Probes `peer` before the others, out of turn. At most prioritized_max peers wait so; the others keep their turn.
    void prioritize(PeerId peer);
    bool has_prioritized() const { return !prioritized_.empty(); }
    // The next of those that is still live.
    std::optional<PeerId> next_prioritized(const Roster& roster);

    // Nothing when no other peer is live. O(1), and O(n log n) after a change of the live peers.
    std::optional<PeerId> next(const Roster& roster, std::uint32_t round);

    static constexpr std::size_t prioritized_max = 64;

  private:
    std::deque<PeerId> prioritized_;
    std::vector<PeerId> live_;  // sorted, with ourselves, as of live_version_
    std::size_t own_index_ = 0;
    std::uint64_t live_version_ = 0;
};

// From 1 to peers - 1; each once in peers - 1 rounds that start at a multiple of that. `peers` is at least 2.
std::size_t probe_step(std::uint32_t round, std::size_t peers);

}  // namespace exa::membership
