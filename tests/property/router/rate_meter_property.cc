// What must hold of a rate meter whatever is asked of it: never more than its rate, never less than it promised.
#include "router/rate_meter.h"

#include <rapidcheck.h>

#include <boost/test/unit_test.hpp>
#include <utility>
#include <vector>

#include "base/rng.h"

using namespace exa;
using namespace exa::router;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(rate_meter_property)

BOOST_AUTO_TEST_CASE(between_any_two_moments_at_most_a_burst_and_the_rate_is_taken) {
    const bool holds = rc::check([] {
        const std::uint64_t per_minute = *rc::gen::inRange<std::uint64_t>(1, 100'000'000);
        const std::uint64_t burst = *rc::gen::inRange<std::uint64_t>(1, 5'000);
        Rng rng(*rc::gen::arbitrary<std::uint64_t>());
        RateMeter meter(per_minute, burst);
        std::vector<std::pair<TimePoint, std::uint64_t>> taken;
        TimePoint now{1'000s};
        // About as long as two amounts take, so that both answers are common.
        const std::uint64_t pause = 2 * 60'000'000 / per_minute * burst + 2;
        for (int i = 0; i < 200; ++i) {
            now += Duration(static_cast<Duration::rep>(rng.below(pause)));
            const std::uint64_t amount = rng.below(burst) + 1;
            if (meter.wait(now, amount) > Duration::zero()) continue;
            meter.charge(now, amount);
            taken.emplace_back(now, amount);
        }
        for (std::size_t first = 0; first < taken.size(); ++first) {
            std::uint64_t sum = 0;
            for (std::size_t last = first; last < taken.size(); ++last) {
                sum += taken[last].second;
                const auto us = static_cast<std::uint64_t>((taken[last].first - taken[first].first).count());
                // One more: what a nanosecond of the burst's rounding is worth, and the division.
                RC_ASSERT(sum <= burst + us * per_minute / 60'000'000 + 1);
            }
        }
    });
    BOOST_TEST(holds);
}

BOOST_AUTO_TEST_CASE(who_waits_as_told_is_let_in_and_not_a_microsecond_earlier) {
    const bool holds = rc::check([] {
        const std::uint64_t per_minute = *rc::gen::inRange<std::uint64_t>(1, 100'000'000);
        const std::uint64_t burst = *rc::gen::inRange<std::uint64_t>(1, 5'000);
        Rng rng(*rc::gen::arbitrary<std::uint64_t>());
        RateMeter meter(per_minute, burst);
        TimePoint now{1'000s};
        for (int i = 0; i < 200; ++i) {
            const std::uint64_t amount = rng.below(burst) + 1;
            const Duration wait = meter.wait(now, amount);
            if (wait > Duration::zero()) RC_ASSERT(meter.wait(now + wait - 1us, amount) == 1us);
            now += wait;
            RC_ASSERT(meter.wait(now, amount) == Duration::zero());
            meter.charge(now, amount);
        }
    });
    BOOST_TEST(holds);
}

BOOST_AUTO_TEST_SUITE_END()
