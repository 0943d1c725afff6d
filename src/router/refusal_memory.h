// RefusalMemory: requests that were answered 503 because everybody was full, and since when their clients have been
// asking. One that comes again is as old as it is, and does not go to the end of the line.
//
// A client does not say that it asks again, so a request is known by a hash of what it is made of. Two that are equal
// share their age, which takes from nobody what is his: both would have been as old had their answers been other ones.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <utility>

#include "base/time.h"

namespace exa::router {

class RefusalMemory {
  public:
    static constexpr std::size_t kept_max = 4096;
    // Clients give up, and those that do not have had their time.
    static constexpr Duration life = std::chrono::minutes(1);

    // A request that first came at `asked` is refused at `now`, which never goes back. 0 names no request.
    void remember(TimePoint now, std::uint64_t fingerprint, TimePoint asked) {
        if (fingerprint == 0) return;
        while (!order_.empty() && (order_.size() >= kept_max || now - order_.front().first >= life)) forget_oldest();
        order_.emplace_back(now, fingerprint);
        Refused& refused = refused_[fingerprint];
        if (refused.times++ == 0 || asked < refused.asked) refused.asked = asked;
    }

    // When the request that comes at `now` came first: then, or now.
    TimePoint asked(TimePoint now, std::uint64_t fingerprint) const {
        const auto at = refused_.find(fingerprint);
        return at == refused_.end() ? now : std::max(at->second.asked, now - life);
    }

    std::size_t size() const { return order_.size(); }

  private:
    struct Refused {
        TimePoint asked;
        std::size_t times = 0;  // in order_
    };

    void forget_oldest() {
        const auto at = refused_.find(order_.front().second);
        if (--at->second.times == 0) refused_.erase(at);
        order_.pop_front();
    }

    std::deque<std::pair<TimePoint, std::uint64_t>> order_;  // by the time of the refusal
    std::unordered_map<std::uint64_t, Refused> refused_;
};

}  // namespace exa::router
