// KvScrubber: reads all that a peer's disk holds of KV, slowly and again and again, so that what has changed there is
// found before somebody needs it. What does not verify is dropped, and comes back from other peers that have it.
//
// "An Analysis of Latent Sector Errors in Disk Drives", Bairavasundaram et al. 2007: most are found by scrubbing.
#pragma once

#include <chrono>
#include <cstdint>
#include <thread>

#include "app/kv/service.h"

namespace exa::app::kv {

struct KvScrubConfig {
    std::uint64_t bytes_per_second = 16ull << 20;  // 0: nothing is read
    // From the begin of one round to that of the next.
    std::chrono::seconds round = std::chrono::hours(1);
};

class KvScrubber {
  public:
    // `service` outlives it. Begins at once, on a thread of its own.
    KvScrubber(KvService& service, const KvScrubConfig& config);

  private:
    void run(const std::stop_token& stopping);

    KvService& service_;
    const KvScrubConfig config_;
    std::jthread thread_;
};

}  // namespace exa::app::kv
