// ThreadCounters: what each data-plane thread has counted, where any of them can read it for a scrape.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "app/replica/backend.h"
#include "io/http/server.h"
#include "io/link/config.h"
#include "router/dispatcher.h"

namespace exa::app {

struct ThreadCounters {
    replica::ReceiverStats serving;
    router::Counters dispatcher;
    io::http::HttpStats http;
    io::link::LinkStats links_dialled;
    io::link::LinkStats links_accepted;
    std::uint64_t fields_left_out = 0;  // of clients' headers
};

// Thread-safe. Written once a second by each thread where there are several, and by the one that is asked.
class ThreadMetrics {
  public:
    explicit ThreadMetrics(std::size_t threads) : stats_(threads) {}

    std::size_t threads() const { return stats_.size(); }

    void store(std::size_t thread, const ThreadCounters& stats) {
        const std::lock_guard lock(mutex_);
        stats_.at(thread) = stats;
    }

    std::vector<ThreadCounters> all() const {
        const std::lock_guard lock(mutex_);
        return stats_;
    }

  private:
    mutable std::mutex mutex_;
    std::vector<ThreadCounters> stats_;
};

}  // namespace exa::app
