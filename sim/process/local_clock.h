// LocalClock: what one peer reads when the world's time is so and so. Its monotonic clock starts anywhere, may run fast
// or slow and may jump forward (a machine that was suspended), but never back; its wall clock may jump either way.
#pragma once

#include <algorithm>

#include "base/time.h"
#include "sim/world/time.h"

namespace exa::sim {

class LocalClock {
  public:
    explicit LocalClock(TimePoint at_start = TimePoint{}, std::int64_t wall_unix_us = 1'700'000'000'000'000)
        : local_(at_start), wall_offset_us_(wall_unix_us) {}

    TimePoint at(WorldTime now) const {
        const auto passed = (now - world_).count();
        return local_ + Duration{passed + passed * ppm_ / 1'000'000};
    }
    WallTime wall(WorldTime now) const { return {now.time_since_epoch().count() + wall_offset_us_}; }

    // The first moment of the world at which the clock shows `local` or more; never for time_never.
    WorldTime when(TimePoint local) const {
        if (local == time_never) return world_never;
        if (local <= local_) return world_;
        __extension__ using Wide = __int128;
        const Wide wait = Wide{(local - local_).count()} * 1'000'000 / (1'000'000 + ppm_);
        WorldTime guess = world_ + Duration{static_cast<Duration::rep>(wait)};
        // Two roundings may put it on either side.
        guess = std::max(world_, guess - Duration{3});
        while (at(guess) < local) guess += Duration{1};
        return guess;
    }

    // Parts per million that it runs fast (or slow, above -1,000,000), from now on.
    void set_drift(WorldTime now, std::int64_t ppm) {
        local_ = at(now);
        world_ = now;
        ppm_ = ppm;
    }
    // `by` must not be negative.
    void jump(WorldTime now, Duration by) {
        local_ = at(now) + by;
        world_ = now;
    }
    void jump_wall(Duration by) { wall_offset_us_ += by.count(); }

  private:
    TimePoint local_;
    WorldTime world_{};
    std::int64_t ppm_ = 0;
    std::int64_t wall_offset_us_;
};

}  // namespace exa::sim
