#include "router/spill_map.h"
#include "support/print.h"

#include <boost/test/unit_test.hpp>

using namespace exa;
using namespace exa::router;
using namespace std::chrono_literals;

namespace {

constexpr TimePoint start{1'000s};

Spill replica(std::uint64_t peer) {
    return {ReplicaId{PeerId{peer}, DeploymentId{1}, 0}, static_cast<std::uint32_t>(peer)};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(spill_map)

BOOST_AUTO_TEST_CASE(remembers_the_latest_and_forgets_on_request) {
    SpillMap map(4, 2h);
    BOOST_TEST(!map.find(start, 1).has_value());
    map.remember(start, 1, replica(1));
    map.remember(start, 1, replica(2));
    BOOST_TEST(map.find(start, 1) == replica(2));
    BOOST_TEST(map.size() == 1u);
    map.forget(1);
    map.forget(1);
    BOOST_TEST(!map.find(start, 1).has_value());
    BOOST_TEST(map.size() == 0u);
}

BOOST_AUTO_TEST_CASE(the_entry_unused_for_longest_makes_room) {
    SpillMap map(3, 2h);
    for (std::uint64_t session = 1; session <= 3; ++session) map.remember(start, session, replica(session));
    map.find(start, 1);
    map.remember(start, 4, replica(4));
    BOOST_TEST(map.size() == 3u);
    BOOST_TEST(map.find(start, 1).has_value());
    BOOST_TEST(!map.find(start, 2).has_value());
    BOOST_TEST(map.find(start, 3).has_value());
    BOOST_TEST(map.find(start, 4) == replica(4));
}

BOOST_AUTO_TEST_CASE(looking_without_using_keeps_nothing_alive) {
    SpillMap map(2, 2h);
    map.remember(start, 1, replica(1));
    map.remember(start, 2, replica(2));
    BOOST_TEST(map.peek(start, 1) == replica(1));
    map.remember(start, 3, replica(3));
    BOOST_TEST(!map.peek(start, 1).has_value());
    BOOST_TEST(map.peek(start, 2).has_value());
}

BOOST_AUTO_TEST_CASE(an_entry_dies_its_life_after_the_last_use) {
    SpillMap map(2, 2h);
    map.remember(start, 1, replica(1));
    BOOST_TEST(map.find(start + 2h, 1).has_value());
    BOOST_TEST(map.find(start + 4h, 1).has_value());
    BOOST_TEST(!map.peek(start + 6h + 1us, 1).has_value());
    BOOST_TEST(!map.find(start + 6h + 1us, 1).has_value());
    BOOST_TEST(map.size() == 0u);
}

BOOST_AUTO_TEST_CASE(a_small_map_survives_a_flood_in_bounds) {
    SpillMap map(8, 2h);
    for (std::uint64_t session = 1; session < 10'000; ++session) {
        map.remember(start, session, replica(session));
        if (session % 3 == 0) map.forget(session / 2);
        BOOST_TEST(map.size() <= 8u);
        BOOST_TEST(map.find(start, session) == replica(session));
    }
}

BOOST_AUTO_TEST_SUITE_END()
