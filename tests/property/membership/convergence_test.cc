#include <boost/test/unit_test.hpp>

#include "cluster.h"
#include "support/print.h"

using namespace exa;
using namespace exa::membership;
using std::chrono::milliseconds;
using std::chrono::seconds;

BOOST_AUTO_TEST_SUITE(convergence)

BOOST_AUTO_TEST_CASE(two_hundred_joins_converge) {
    Cluster cluster(1, {});
    cluster.up_all(200, seconds{5});
    BOOST_TEST(cluster.converge(seconds{10}) < seconds{10});
    BOOST_TEST(cluster.fault() == "");
    BOOST_TEST(cluster.count(EventKind::suspect) == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
