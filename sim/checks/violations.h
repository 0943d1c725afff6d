// Violations: what the checkers found wrong, and what was measured on the way.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "membership/membership.h"
#include "sim/cluster/cluster.h"
#include "sim/scenarios/scenario.h"

namespace exa::sim {

struct Violation {
    std::string check;  // "M2"
    std::string what;
    WorldTime at;
    std::uint64_t entry = 0;  // of the trace, for explain
};

class Violations {
  public:
    Violations(const Scenario& scenario, Cluster& cluster)
        : cluster_(cluster), watched_(scenario.watch.begin(), scenario.watch.end()) {}

    // Counted when the scenario watches `check`; the first hundred are kept.
    // `late`: the host that should have acted, so that its last entry is what explains it.
    void add(std::string_view check, std::string what, std::optional<Host> late = std::nullopt);
    bool watches(std::string_view check) const { return watched_.contains(check); }
    const std::vector<Violation>& kept() const { return kept_; }
    std::uint64_t count() const { return count_; }

  private:
    Cluster& cluster_;
    std::set<std::string, std::less<>> watched_;
    std::vector<Violation> kept_;
    std::uint64_t count_ = 0;
};

// Seconds, each list in the order things happened.
struct Measured {
    std::vector<double> detect_first;  // crash to the first observer that calls it dead
    std::vector<double> detect_all;    // ... to the last
    std::vector<double> spread;        // between the two
    std::vector<double> join_all;      // from a node's start until all that were up then know it
    std::optional<double> ready_all;   // from the start until every replica is ready in every view
    std::optional<double> settle;      // of the liveness phase
    std::uint64_t false_deaths = 0;    // of peers that were up, punctual and in reach
    std::uint64_t excused_deaths = 0;  // of peers that were up, but stopped or cut off
    std::uint64_t suspicions = 0;
    std::uint64_t ring_changes = 0;  // as one observer's dispatcher would have seen them
    std::uint64_t left_as_dead = 0;  // observers that called a peer dead which had left by its own word
    std::uint64_t strangers = 0;     // datagrams of no member, or heard before, whose effect was looked at
    std::uint64_t placements = 0;    // ring changes and placements of copies that were looked at
    membership::Sizes sizes;         // the most of each that one peer held at a look
};

}  // namespace exa::sim
