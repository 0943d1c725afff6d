#include "membership/loss_hold.h"

#include <algorithm>

namespace exa::membership {

bool LossHold::update(const Roster& roster) {
    const auto is_dead = [&](const auto& dead) {
        return roster.find(dead.second)->liveness == Liveness::dead && !has_live_namesake(roster, dead.second);
    };
    const auto dead = static_cast<std::size_t>(std::ranges::count_if(roster.dead(), is_dead));
    const bool many = 3 * dead > roster.live_count() + dead;
    if (!many) confirmed_ = false;
    held_ = many && !confirmed_;
    return held_;
}

}  // namespace exa::membership
