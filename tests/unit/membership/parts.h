// A Step over a roster of samples, for the tests of the parts of Membership.
#pragma once

#include <cstdint>

#include "membership/step.h"
#include "samples.h"

namespace exa::membership::samples {

// Peer 7 and `others` live peers numbered from 101, with the generators and timers that a part is lent.
struct Bench {
    explicit Bench(std::size_t others, Config values = {}) : config(values), roster(samples::roster(others)) {}

    Step step() { return {now, config, roster, rng, numbers, timers}; }
    void set_liveness(std::uint64_t peer, Liveness liveness, std::uint64_t incarnation = 0) {
        roster.set_liveness(now, PeerId{peer}, liveness, Incarnation{incarnation});
    }
    // `peer` is known from now on, and stands in `rack`.
    void add(std::uint64_t peer, const std::string& rack) {
        wire::PeerRecord added = record(peer);
        added.rack = rack;
        roster.apply(now, whole(added));
    }

    Config config;
    Roster roster;
    TimePoint now = start;
    Rng rng{1};
    Sequence numbers;
    Timers timers;
};

}  // namespace exa::membership::samples
