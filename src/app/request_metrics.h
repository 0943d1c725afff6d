// RequestMetrics: counts of requests over all data-plane threads of a peer. Each thread writes its own slot when it has
// answered a request or is asked; any thread sums.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "io/link/config.h"
#include "router/dispatcher.h"

namespace exa::app {

class RequestMetrics {
  public:
    struct Sum {
        std::uint64_t requests = 0;
        std::uint64_t failed = 0;  // answered 5xx, or broke in the middle
        std::uint64_t in_flight = 0;
        std::uint64_t links_refused = 0;  // connections on the link port that did not speak our protocol
    };

    explicit RequestMetrics(std::size_t threads) : slots_(threads) {}

    void store(std::size_t thread, const router::Dispatcher& dispatcher, std::uint64_t failed,
               const io::link::LinkStats& accepted) {
        Slot& slot = slots_[thread];
        const router::Counters& counters = dispatcher.counters();
        slot.requests.store(counters.begun, std::memory_order_relaxed);
        slot.failed.store(failed, std::memory_order_relaxed);
        slot.in_flight.store(dispatcher.in_flight(), std::memory_order_relaxed);
        slot.links_refused.store(accepted.links_refused + accepted.malformed, std::memory_order_relaxed);
    }

    Sum sum() const {
        Sum sum;
        for (const Slot& slot : slots_) {
            sum.requests += slot.requests.load(std::memory_order_relaxed);
            sum.failed += slot.failed.load(std::memory_order_relaxed);
            sum.in_flight += slot.in_flight.load(std::memory_order_relaxed);
            sum.links_refused += slot.links_refused.load(std::memory_order_relaxed);
        }
        return sum;
    }

  private:
    struct alignas(64) Slot {
        std::atomic<std::uint64_t> requests = 0;
        std::atomic<std::uint64_t> failed = 0;
        std::atomic<std::uint64_t> in_flight = 0;
        std::atomic<std::uint64_t> links_refused = 0;
    };
    std::vector<Slot> slots_;
};

}  // namespace exa::app
