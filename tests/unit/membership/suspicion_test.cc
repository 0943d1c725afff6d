#include "membership/suspicion.h"
#include "support/print.h"

#include <boost/test/unit_test.hpp>

using namespace exa;
using namespace exa::membership;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

const TimePoint start{seconds{100}};
const Suspicion::Bounds bounds{seconds{2}, seconds{8}, 3};

}  // namespace

BOOST_AUTO_TEST_SUITE(suspicion)

BOOST_AUTO_TEST_CASE(a_lone_accuser_waits_the_maximum) {
    BOOST_TEST(Suspicion(start, PeerId{1}, bounds).deadline() == start + seconds{8});
}

BOOST_AUTO_TEST_CASE(the_deadline_shrinks_with_the_logarithm_of_accusers_to_the_minimum) {
    Suspicion suspicion(start, PeerId{1}, bounds);
    BOOST_TEST(suspicion.confirm(PeerId{2}));
    // log 2 / log 4 is a half.
    BOOST_TEST(suspicion.deadline() == start + seconds{5});
    BOOST_TEST(suspicion.confirm(PeerId{3}));
    BOOST_TEST(suspicion.deadline() > start + seconds{3});
    BOOST_TEST(suspicion.deadline() < start + milliseconds{3300});
    BOOST_TEST(suspicion.confirm(PeerId{4}));
    BOOST_TEST(suspicion.deadline() == start + seconds{2});
}

BOOST_AUTO_TEST_CASE(an_accuser_counts_once_and_more_than_wanted_do_not_count) {
    Suspicion suspicion(start, PeerId{1}, bounds);
    BOOST_TEST(!suspicion.confirm(PeerId{1}));
    BOOST_TEST(suspicion.confirm(PeerId{2}));
    BOOST_TEST(!suspicion.confirm(PeerId{2}));
    BOOST_TEST(suspicion.confirm(PeerId{3}));
    BOOST_TEST(suspicion.confirm(PeerId{4}));
    BOOST_TEST(!suspicion.confirm(PeerId{5}));
    BOOST_TEST(suspicion.deadline() == start + seconds{2});
}

BOOST_AUTO_TEST_CASE(without_possible_confirmations_the_minimum_applies) {
    const auto two = suspicion_bounds(Config{}, 2);
    BOOST_TEST(two.confirmations == 0U);
    BOOST_TEST(Suspicion(start, PeerId{1}, two).deadline() == start + Config{}.suspicion_min);
    BOOST_TEST(suspicion_bounds(Config{}, 3).confirmations == 1U);
    BOOST_TEST(suspicion_bounds(Config{}, 100).confirmations == Config{}.suspicion_confirmations);
}

BOOST_AUTO_TEST_CASE(times_grow_with_the_logarithm_of_the_cluster_above_256_peers_only) {
    BOOST_TEST(suspicion_bounds(Config{}, 256).max == Config{}.suspicion_max);
    BOOST_TEST(suspicion_bounds(Config{}, 65536).max == 2 * Config{}.suspicion_max);
    BOOST_TEST(suspicion_bounds(Config{}, 65536).min == 2 * Config{}.suspicion_min);
}

BOOST_AUTO_TEST_SUITE_END()
