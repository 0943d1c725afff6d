#include "router/config.h"

#include <array>
#include <string>

#include "router/errc.h"

namespace exa::router {

Result<void> validate(const Config& config) {
    struct Range {
        const char* key;
        std::int64_t value;
        std::int64_t low;
        std::int64_t high;
        const char* unit;
    };
    constexpr std::int64_t minute_us = 60'000'000;
    const std::array ranges{
        Range{"router.load_factor_percent", config.load_factor_percent, 100, 1'000, "%"},
        Range{"router.load_floor", config.load_floor, 1, 10'000, ""},
        Range{"router.attempts_max", config.attempts_max, 1, attempts_limit, ""},
        Range{"router.retry_ratio_percent", config.retry_ratio_percent, 0, 100, "%"},
        Range{"router.retry_burst", config.retry_burst, 1, 100'000, ""},
        Range{"router.prefix_choices", config.prefix_choices, 1, 64, ""},
        Range{"router.breaker_failures", config.breaker_failures, 1, 1'000, ""},
        Range{"router.breaker_open", config.breaker_open.count(), 1'000, 60 * minute_us, " us"},
        Range{"router.breaker_open_max", config.breaker_open_max.count(), config.breaker_open.count(), 60 * minute_us,
              " us"},
        Range{"router.peer_backoff", config.peer_backoff.count(), 1'000, minute_us, " us"},
        Range{"router.peer_backoff_max", config.peer_backoff_max.count(), config.peer_backoff.count(), 10 * minute_us,
              " us"},
        Range{"router.refused_backoff", config.refused_backoff.count(), 1'000, minute_us, " us"},
        Range{"router.load_fresh", config.load_fresh.count(), 0, minute_us, " us"},
        Range{"router.queue_wait", config.queue_wait.count(), 0, 100'000'000, " us"},
        Range{"router.slow_start", config.slow_start.count(), 0, 10 * minute_us, " us"},
        Range{"router.progress_tokens", config.progress_tokens, 1, 1'000'000, ""},
        Range{"router.retry_after", config.retry_after.count(), 1'000, 60 * minute_us, " us"},
        Range{"router.spill_entries", config.spill_entries, 1, 10'000'000, ""},
        Range{"router.token_life", config.token_life.count(), minute_us, 7 * 24 * 60 * minute_us, " us"},
        Range{"router.token_future", config.token_future.count(), 0, 60 * minute_us, " us"},
    };
    for (const Range& range : ranges) {
        if (range.value >= range.low && range.value <= range.high) continue;
        return error(errc::invalid_config, std::string(range.key) + " = " + std::to_string(range.value) + range.unit +
                                               ", must be " + std::to_string(range.low) + " .. " +
                                               std::to_string(range.high) + range.unit);
    }
    return success();
}

}  // namespace exa::router
