#include "engine/recent_times.h"

#include <algorithm>

#include "base/check.h"

namespace exa::engine {

void RecentTimes::add(TimePoint now, Duration time) {
    samples_[next_] = {now, time};
    next_ = (next_ + 1) % kept_max;
    count_ = std::min(count_ + 1, kept_max);
}

std::optional<Duration> RecentTimes::percentile(TimePoint now, std::uint32_t permille) const {
    EXA_CHECK(permille >= 1 && permille <= 1000);
    std::array<Duration, kept_max> young;
    std::size_t count = 0;
    for (std::size_t i = 0; i < count_; ++i)
        if (now - samples_[i].at < life) young[count++] = samples_[i].time;
    if (count == 0) return std::nullopt;
    const std::size_t rank = (count * permille + 999) / 1000 - 1;
    std::nth_element(young.begin(), young.begin() + rank, young.begin() + count);
    return young[rank];
}

}  // namespace exa::engine
