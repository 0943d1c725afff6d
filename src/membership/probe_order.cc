#include "membership/probe_order.h"

#include <algorithm>
#include <span>

namespace exa::membership {

namespace {

bool is_live(const Roster& roster, PeerId id) {
    const Peer* peer = roster.find(id);
    return peer != nullptr && peer->is_live();
}

}  // namespace

void ProbeOrder::add(PeerId peer, Rng& rng) {
    // Back among the living before its turn came: it still stands in the order.
    if (std::ranges::find(order_, peer) != order_.end()) return;
    order_.insert(order_.begin() + static_cast<std::ptrdiff_t>(rng.below(order_.size() + 1)), peer);
}

void ProbeOrder::hurry(PeerId peer) {
    if (hurried_.size() >= hurried_max || std::ranges::find(hurried_, peer) != hurried_.end()) return;
    hurried_.push_back(peer);
}

std::optional<PeerId> ProbeOrder::next(const Roster& roster, Rng& rng) {
    while (!hurried_.empty()) {
        const PeerId peer = hurried_.front();
        hurried_.pop_front();
        if (is_live(roster, peer)) return peer;
    }
    if (roster.live().empty()) return std::nullopt;
    // The second time round the order holds only the living.
    while (true) {
        while (!order_.empty()) {
            const PeerId peer = order_.back();
            order_.pop_back();
            if (is_live(roster, peer)) return peer;
        }
        order_ = roster.live();
        rng.shuffle(std::span<PeerId>(order_));
    }
}

}  // namespace exa::membership
