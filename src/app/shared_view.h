// SharedView: what the control strand publishes and every other thread reads, without locks.
#pragma once

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "base/cluster_key.h"
#include "io/udp/socket.h"
#include "membership/view.h"
#include "node/seal.h"
#include "router/routing_view.h"

namespace exa::app {

// How this peer's gossip is sealed. No secrets.
struct SealView {
    bool sealed = false;
    KeyId primary;
    std::vector<KeyId> installed;  // the last changed first
    bool stored = true;            // the ring as it is now is on the disk
    std::vector<node::SealAlarm> alarms;
    node::SealCounters counters;
};

// One moment of the control plane. Immutable once published.
struct ControlView {
    std::shared_ptr<const membership::View> members;
    std::shared_ptr<const router::RoutingView> routing;
    io::UdpStats udp;
    std::uint64_t gossip_refused = 0;  // datagrams that were not ours: malformed, another cluster or version
    bool draining = false;             // this peer takes no new work of its own
    std::shared_ptr<const SealView> seal = std::make_shared<const SealView>();
};

class SharedView {
  public:
    std::shared_ptr<const ControlView> load() const {
        // Asked first: readers of many threads would otherwise fight for the line.
        if (!was_read_.load(std::memory_order_relaxed)) was_read_.store(true, std::memory_order_relaxed);
        return view_.load();
    }
    void store(std::shared_ptr<const ControlView> view) {
        was_read_.store(false, std::memory_order_relaxed);
        view_.store(std::move(view));
    }
    // Since the last store: whoever publishes may take its time while nobody looks.
    bool was_read() const { return was_read_.load(std::memory_order_relaxed); }

  private:
    std::atomic<std::shared_ptr<const ControlView>> view_;
    mutable std::atomic<bool> was_read_ = false;
};

}  // namespace exa::app
