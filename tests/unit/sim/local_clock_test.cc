#include "sim/process/local_clock.h"
#include "support/print.h"

#include <boost/test/unit_test.hpp>

using namespace exa;
using namespace exa::sim;
using std::chrono::seconds;

BOOST_AUTO_TEST_SUITE(local_clock)

BOOST_AUTO_TEST_CASE(when_is_the_first_moment_that_shows_the_time) {
    for (const std::int64_t ppm : {-500'000, -137, 0, 61, 250'000}) {
        LocalClock clock(TimePoint{seconds{500}});
        clock.set_drift(WorldTime{seconds{3}}, ppm);
        for (const std::int64_t us : {503'000'001, 504'123'457, 900'000'000}) {
            const TimePoint local{Duration{us}};
            const WorldTime when = clock.when(local);
            BOOST_TEST(clock.at(when) >= local);
            BOOST_TEST(clock.at(when - Duration{1}) < local);
        }
    }
}

BOOST_AUTO_TEST_CASE(jumps_and_drift_never_turn_it_back) {
    LocalClock clock(TimePoint{seconds{100}});
    TimePoint last = clock.at(WorldTime{});
    for (int i = 1; i < 20; ++i) {
        const WorldTime now{seconds{i}};
        if (i % 3 == 0) clock.jump(now, seconds{2});
        if (i % 4 == 0) clock.set_drift(now, i % 8 == 0 ? 300'000 : -300'000);
        BOOST_TEST(clock.at(now) >= last);
        last = clock.at(now);
    }
}

BOOST_AUTO_TEST_CASE(a_jump_of_the_wall_clock_leaves_the_other_alone) {
    LocalClock clock;
    const TimePoint before = clock.at(WorldTime{seconds{5}});
    const std::int64_t wall = clock.wall(WorldTime{seconds{5}}).unix_us;
    clock.jump_wall(-seconds{60});
    BOOST_TEST(clock.at(WorldTime{seconds{5}}) == before);
    BOOST_TEST(clock.wall(WorldTime{seconds{5}}).unix_us == wall - 60'000'000);
}

BOOST_AUTO_TEST_CASE(never_stays_never) {
    BOOST_TEST(LocalClock().when(time_never) == world_never);
}

BOOST_AUTO_TEST_SUITE_END()
