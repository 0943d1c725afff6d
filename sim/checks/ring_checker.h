// RingChecker: R1, equal views give equal rings; R2, a change moves no more than it must; R3, copies stand on different
// racks where there are that many. The rings of one observer are followed, as its dispatcher would see them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/rng.h"
#include "router/routing_view.h"
#include "sim/checks/checker.h"

namespace exa::sim {

class RingChecker final : public Checker {
  public:
    explicit RingChecker(CheckContext& context);

    void on_up(WorldTime now, const Peer& peer, std::size_t number) override;
    void on_down(WorldTime now, const Peer& peer, std::size_t number) override;
    void after_event(const Peer& observer, std::size_t number, const membership::Event& event) override;
    void sweep(WorldTime now) override;
    // Once, when all has settled.
    void check_rings(const std::vector<Host>& core);

  private:
    void count_ready(const Peer& observer, std::size_t number);
    void look_at(const Peer& observer, bool at_once);
    void check_movement(const Peer& observer, const router::RoutingView& before, const router::RoutingView& after);
    void check_copies(const Peer& observer);

    std::vector<std::vector<std::uint32_t>> ready_;  // replicas, [observer][subject]
    std::uint64_t ready_sum_ = 0;
    std::optional<Host> observer_;
    std::uint64_t digest_ = 0;
    WorldTime looked_{};
    bool is_stale_ = false;
    std::shared_ptr<const router::RoutingView> before_;
    Rng samples_;
};

}  // namespace exa::sim
