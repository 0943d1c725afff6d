// RetryBudget: how many retries a whole dispatcher may make. Requests earn it; without it a sick cluster would be asked
// several times for everything.
//
// Failures may spend all of it, busy answers only the upper half: under overload there is always something left for the
// requests of a peer that dies.
#pragma once

#include <algorithm>
#include <cstdint>

#include "router/config.h"

namespace exa::router {

class RetryBudget {
  public:
    explicit RetryBudget(const Config& config)
        : earned_(config.retry_ratio_percent), full_(std::uint64_t{config.retry_burst} * retry), left_(full_) {}

    void earn() { left_ = std::min(full_, left_ + earned_); }

    bool covers_failure() const { return left_ >= retry; }
    bool spend_on_failure() { return spend(0); }
    bool spend_on_busy() { return spend(full_ / 2); }

  private:
    static constexpr std::uint64_t retry = 100;  // one retry, in percent of one

    bool spend(std::uint64_t reserve) {
        if (left_ < reserve + retry) return false;
        left_ -= retry;
        return true;
    }

    std::uint64_t earned_;
    std::uint64_t full_;
    std::uint64_t left_;
};

}  // namespace exa::router
