#include "kv/hybrid_clock.h"

#include <boost/test/unit_test.hpp>

using namespace exa;
using namespace exa::kv;

namespace {

constexpr WallTime now{1'800'000'000'000'000};

}  // namespace

BOOST_AUTO_TEST_SUITE(hybrid_clock)

BOOST_AUTO_TEST_CASE(stamps_grow_also_when_the_wall_clock_stands_or_goes_back) {
    HybridClock clock;
    std::uint64_t last = 0;
    for (int i = 0; i < 200'000; ++i) {
        const std::uint64_t stamp = clock.next({now.unix_us - i});
        BOOST_REQUIRE(stamp > last);
        last = stamp;
    }
    BOOST_TEST((last >> 16) == 1'800'000'000'003u);
}

BOOST_AUTO_TEST_CASE(a_stamp_that_was_seen_is_behind_the_next) {
    HybridClock clock;
    const std::uint64_t theirs = HybridClock().next({now.unix_us + 30'000'000});
    clock.observe(now, theirs);
    BOOST_TEST(clock.next(now) == theirs + 1);
}

BOOST_AUTO_TEST_CASE(a_stamp_from_far_ahead_moves_nothing) {
    HybridClock clock;
    clock.observe(now, ~0ull);
    clock.observe(now, HybridClock().next({now.unix_us + 61'000'000}));
    BOOST_TEST((clock.next(now) >> 16) == 1'800'000'000'000u);
}

BOOST_AUTO_TEST_SUITE_END()
