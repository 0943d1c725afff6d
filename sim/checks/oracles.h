// Oracles: what must hold (docs/simulator.md), checked while the world runs, and what is measured on the way.
//
// Each family of invariants has a Checker; this class tells all of them what happens, and keeps the truth up to date.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/checks/belief_checker.h"
#include "sim/checks/bounds_checker.h"
#include "sim/checks/checker.h"
#include "sim/checks/detection_checker.h"
#include "sim/checks/packet_checker.h"
#include "sim/checks/ring_checker.h"
#include "sim/checks/truth.h"
#include "sim/checks/violations.h"
#include "sim/cluster/cluster.h"
#include "sim/scenarios/scenario.h"

namespace exa::sim {

class Oracles final : public Watcher {
  public:
    Oracles(const Scenario& scenario, Cluster& cluster);
    // Its checkers refer to it.
    Oracles(const Oracles&) = delete;
    Oracles& operator=(const Oracles&) = delete;

    void on_up(WorldTime now, const Peer& peer) override;
    void on_down(WorldTime now, const Peer& peer) override;
    void on_told(WorldTime now, const Peer& observer, const membership::Event& event) override;
    void before_stranger(const Peer& peer) override;
    void after_stranger(WorldTime now, const Peer& peer, Origin origin, bool taken) override;
    // A cut ended or a stopped peer goes on: what is overdue gets its time again.
    void on_heal(WorldTime now) { context_.last_heal = now; }
    void on_reunion(WorldTime now) { context_.last_reunion = now; }

    // The plan is over: what goes down from now on is not measured, only judged.
    void end_measuring() { context_.is_measuring = false; }
    // Looks for what is overdue, and at what is bounded.
    void sweep(WorldTime now);
    // Every peer of `core` agrees with the truth about the core and about those that are down. `why` says what is
    // missing, if anything.
    bool is_settled(const std::vector<Host>& core, std::string& why);
    // Once, when all has settled.
    void check_rings(const std::vector<Host>& core) { rings_.check_rings(core); }
    void check_bounds() { bounds_.check_totals(); }
    // A datagram or link message as it leaves a peer.
    void check_length(Host from, bool link, std::size_t bytes) { bounds_.check_length(from, link, bytes); }

    // `late`: the host that should have acted.
    void violate(std::string_view check, std::string what, std::optional<Host> late = std::nullopt) {
        violations_.add(check, std::move(what), late);
    }
    bool watches(std::string_view check) const { return violations_.watches(check); }
    const std::vector<Violation>& violations() const { return violations_.kept(); }
    std::uint64_t violation_count() const { return violations_.count(); }
    Measured& measured() { return measured_; }
    const Measured& measured() const { return measured_; }

  private:
    Truth truth_;
    Violations violations_;
    Measured measured_;
    CheckContext context_;
    BoundsChecker bounds_;
    RingChecker rings_;
    DetectionChecker detection_;
    BeliefChecker beliefs_;
    PacketChecker packets_;
    std::array<Checker*, 5> checkers_{&bounds_, &rings_, &beliefs_, &detection_, &packets_};
};

}  // namespace exa::sim
