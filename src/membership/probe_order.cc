#include "membership/probe_order.h"

#include <algorithm>
#include <numeric>

#include "base/hash.h"

namespace exa::membership {

std::size_t probe_step(std::uint32_t round, std::size_t peers) {
    const std::uint64_t steps = peers - 1;
    const std::uint64_t cycle = hash64(round / steps, steps);
    // Places in a cycle are mapped to steps by a line modulo their number: one to one when its slope has no common
    // factor with that, and another line in each cycle.
    std::uint64_t slope = 1 + (cycle >> 32) % steps;
    while (std::gcd(slope, steps) != 1) ++slope;
    return static_cast<std::size_t>(1 + (round % steps * slope + (cycle & 0xffffffff)) % steps);
}

void ProbeOrder::prioritize(PeerId peer) {
    if (prioritized_.size() >= prioritized_max || std::ranges::find(prioritized_, peer) != prioritized_.end()) return;
    prioritized_.push_back(peer);
}

std::optional<PeerId> ProbeOrder::next_prioritized(const Roster& roster) {
    while (!prioritized_.empty()) {
        const PeerId id = prioritized_.front();
        prioritized_.pop_front();
        if (const Peer* peer = roster.find(id); peer != nullptr && peer->is_live()) return id;
    }
    return std::nullopt;
}

std::optional<PeerId> ProbeOrder::next(const Roster& roster, std::uint32_t round) {
    if (roster.live().empty()) return std::nullopt;
    if (live_version_ != roster.live_version()) {
        live_ = roster.live();
        live_.push_back(roster.self());
        std::ranges::sort(live_);
        own_index_ = static_cast<std::size_t>(std::ranges::lower_bound(live_, roster.self()) - live_.begin());
        live_version_ = roster.live_version();
    }
    return live_[(own_index_ + probe_step(round, live_.size())) % live_.size()];
}

}  // namespace exa::membership
