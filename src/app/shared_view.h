// SharedView: what the control strand publishes and every other thread reads, without locks.
#pragma once

#include <atomic>
#include <memory>

#include "io/udp/socket.h"
#include "membership/view.h"
#include "router/routing_view.h"

namespace exa::app {

// One moment of the control plane. Immutable once published.
struct ControlView {
    std::shared_ptr<const membership::View> members;
    std::shared_ptr<const router::RoutingView> routing;
    io::UdpStats udp;
    std::uint64_t gossip_refused = 0;  // datagrams that were not ours: malformed, another cluster or version
    bool draining = false;             // this peer takes no new work of its own
};

using SharedView = std::atomic<std::shared_ptr<const ControlView>>;

}  // namespace exa::app
