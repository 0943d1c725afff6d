// BeliefChecker: what peers believe of each other is true. M1 and M3, when all has settled everybody holds everybody
// for alive in the newest version; M4, nothing goes back; M5, no single peer has others called dead that are up; and no
// peer that is up, punctual and in reach is suspected or called dead.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "sim/checks/checker.h"

namespace exa::sim {

class BeliefChecker final : public Checker {
  public:
    // `bound`: as DetectionChecker's.
    BeliefChecker(CheckContext& context, Duration bound) : Checker(context), bound_(bound) {}

    void on_up(WorldTime now, const Peer& peer, std::size_t number) override;
    void on_event(WorldTime now, const Peer& observer, std::size_t number, const membership::Event& event) override;
    // A peer ends itself: its event says why.
    void check_refusal(WorldTime now, const Peer& observer, const membership::Event& event);
    bool is_settled(const std::vector<Host>& core, std::string& why) override;

  private:
    void check_newest(const Peer& observer, std::size_t number, const membership::Event& event);
    void check_return(WorldTime now, const Peer& observer, std::size_t number, const membership::Event& event);
    void check_death(WorldTime now, const Peer& observer, std::size_t number, const membership::Event& event);
    void check_leave(WorldTime now, const Peer& observer, std::size_t number, const membership::Event& event);
    void check_suspicion(const Peer& observer, std::size_t number);
    bool is_gossip_held_up(WorldTime now) const;
    // What `observer` lacks about the subject; empty: nothing.
    std::string missing(const Peer& observer, std::size_t number, bool is_in_core) const;

    Duration bound_;
    std::uint64_t false_suspicions_ = 0;
    std::map<Host, std::set<Host>> victims_;  // by accuser
};

}  // namespace exa::sim
