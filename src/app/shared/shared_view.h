// SharedView: what the control strand publishes and every other thread reads, without locks.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/cluster_key.h"
#include "io/udp/socket.h"
#include "membership/bootstrap.h"
#include "membership/view.h"
#include "node/seal.h"
#include "router/routing_view.h"

namespace exa::app::shared {

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
    io::udp::UdpStats udp;
    std::uint64_t gossip_refused = 0;  // datagrams that were not ours: malformed, another cluster or version
    bool draining = false;             // this peer takes no new work of its own
    std::shared_ptr<const SealView> seal = std::make_shared<const SealView>();
    std::shared_ptr<const std::vector<membership::SeedStatus>> seeds =
        std::make_shared<const std::vector<membership::SeedStatus>>();
};

class SharedView {
  public:
    std::shared_ptr<const ControlView> load() const {
        note_read();
        return view_.load();
    }
    // Its rings are drawn here, once for all threads.
    void store(std::shared_ptr<const ControlView> view) {
        if (view->routing) view->routing->draw_rings();
        was_read_.store(false, std::memory_order_relaxed);
        view_.store(std::move(view));
        version_.fetch_add(1, std::memory_order_release);
    }
    // Since the last store: whoever publishes may take its time while nobody looks.
    bool was_read() const { return was_read_.load(std::memory_order_relaxed); }

  private:
    friend class ViewReader;

    void note_read() const {
        // Asked first: readers of many threads would otherwise fight for the line.
        if (!was_read_.load(std::memory_order_relaxed)) was_read_.store(true, std::memory_order_relaxed);
    }

    std::atomic<std::shared_ptr<const ControlView>> view_;
    std::atomic<std::uint64_t> version_ = 0;  // grows after every store
    mutable std::atomic<bool> was_read_ = false;
};

// One thread's way to read it: as long as nothing new is published, a look at one word.
class ViewReader {
  public:
    // `shared` outlives it.
    explicit ViewReader(const SharedView& shared) : shared_(shared) {}

    // The newest one; valid until the next call.
    const std::shared_ptr<const ControlView>& load() {
        const std::uint64_t version = shared_.version_.load(std::memory_order_acquire);
        shared_.note_read();
        if (version != version_ || !view_) {
            version_ = version;
            view_ = shared_.view_.load();
        }
        return view_;
    }

  private:
    const SharedView& shared_;
    std::uint64_t version_ = 0;
    std::shared_ptr<const ControlView> view_;
};

}  // namespace exa::app::shared
