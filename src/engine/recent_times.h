// RecentTimes: a percentile of the times that were measured last, such as those between two tokens.
//
// The last 256 count, and those only that are younger than a minute: what a replica was like an hour ago says nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/time.h"

namespace exa::engine {

class RecentTimes {
  public:
    static constexpr std::size_t kept_max = 256;
    static constexpr Duration life = std::chrono::minutes(1);

    // `now` never goes back.
    void add(TimePoint now, Duration time);

    // The smallest kept time that at least `permille` of the kept ones do not exceed, 1 .. 1000; nothing when none is
    // kept. Looks at all of them.
    std::optional<Duration> percentile(TimePoint now, std::uint32_t permille) const;

  private:
    struct Sample {
        TimePoint at;
        Duration time;
    };

    std::array<Sample, kept_max> samples_{};
    std::size_t count_ = 0;
    std::size_t next_ = 0;
};

}  // namespace exa::engine
