#include "kv/hybrid_clock.h"
#include "support/print.h"

#include <boost/test/unit_test.hpp>

using namespace exa;
using namespace exa::kv;

namespace {

constexpr WallTime now{1'800'000'000'000'000};

std::int64_t unix_us(std::uint64_t stamp) {
    return static_cast<std::int64_t>(stamp >> 16) * 16;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(hybrid_clock)

BOOST_AUTO_TEST_CASE(stamps_grow_also_when_the_wall_clock_stands_or_goes_back) {
    HybridClock clock;
    std::uint64_t last = 0;
    for (int i = 0; i < 200'000; ++i) {
        const std::uint64_t stamp = clock.next({now.unix_us - i});
        BOOST_TEST_REQUIRE(stamp > last);
        last = stamp;
    }
    BOOST_TEST(unix_us(last) == now.unix_us + 199'999 * 16);
}

BOOST_AUTO_TEST_CASE(writers_of_one_moment_do_not_make_the_same_stamp) {
    HybridClock one(1), other(2);
    for (int i = 0; i < 100; ++i) {
        const std::uint64_t stamp = one.next(now);
        BOOST_TEST(stamp != other.next(now));
        BOOST_TEST((stamp & 0xffff) == 1u);
    }
}

BOOST_AUTO_TEST_CASE(a_stamp_that_was_seen_is_behind_the_next) {
    HybridClock clock(1);
    const std::uint64_t theirs = HybridClock(9).next({now.unix_us + 30'000'000});
    clock.observe(now, theirs);
    BOOST_TEST(clock.next(now) > theirs);
    BOOST_TEST(unix_us(clock.next(now)) < now.unix_us + 30'000'100);
}

BOOST_AUTO_TEST_CASE(a_stamp_from_far_ahead_moves_nothing) {
    HybridClock clock;
    clock.observe(now, ~0ull);
    clock.observe(now, HybridClock().next({now.unix_us + 61'000'000}));
    BOOST_TEST(unix_us(clock.next(now)) == now.unix_us);
}

BOOST_AUTO_TEST_CASE(a_write_over_a_stamp_from_far_ahead_is_later_than_it_and_moves_nothing_else) {
    HybridClock clock(3);
    const std::uint64_t ahead = HybridClock(9).next({now.unix_us + 86'400'000'000});
    BOOST_TEST(clock.next(now, ahead) > ahead);
    BOOST_TEST(unix_us(clock.next(now)) < now.unix_us + 100);
}

BOOST_AUTO_TEST_CASE(what_follows_a_stamp_is_below_all_later_writes) {
    HybridClock one(1), two(2);
    const std::uint64_t base = one.next(WallTime{1'000'000});
    BOOST_TEST(one.following(base) > base);
    BOOST_TEST(one.following(base) != two.following(base));
    BOOST_TEST(two.next(WallTime{1'000'100}) > one.following(base));
    BOOST_TEST(one.next(WallTime{0}, one.following(base)) > one.following(base));
}

BOOST_AUTO_TEST_SUITE_END()
