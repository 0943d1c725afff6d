#include "node/drain.h"
#include "support/print.h"

#include <boost/test/unit_test.hpp>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(node_drain)

using namespace exa;
using namespace exa::node;
using namespace std::chrono_literals;

namespace {

constexpr TimePoint start{1000s};
using Steps = std::vector<DrainStep>;

struct Harness {
    Drain drain{{.limit = 30s}};
    Steps steps;

    Steps begin() {
        drain.start(start, steps);
        return std::exchange(steps, {});
    }
    Steps at(Duration since, DrainStatus status) {
        drain.handle_status(start + since, status, steps);
        return std::exchange(steps, {});
    }
};

}  // namespace

BOOST_AUTO_TEST_CASE(an_idle_peer_leaves_step_by_step_at_once) {
    Harness harness;
    BOOST_TEST(harness.begin() == Steps{DrainStep::announce});
    BOOST_TEST(harness.at(0s, {}) == Steps{DrainStep::close_gateway});
    BOOST_TEST(harness.at(0s, {}) == Steps{DrainStep::leave});
    BOOST_TEST(harness.at(0s, {}) == Steps{});
    BOOST_TEST(harness.at(1s, {.left = true}) == Steps{DrainStep::close_links});
    BOOST_TEST(harness.drain.stage() == Drain::Stage::done);
    BOOST_TEST(harness.drain.next_timeout() == time_never);
}

BOOST_AUTO_TEST_CASE(the_gateway_stays_open_while_anything_is_answered) {
    Harness harness;
    harness.begin();
    BOOST_TEST(harness.at(1s, {.serving = true}) == Steps{});
    BOOST_TEST(harness.at(2s, {.answering = true}) == Steps{});
    BOOST_TEST(!harness.drain.gateway_closed());
    BOOST_TEST(harness.at(3s, {.gateway_open = true}) == Steps{DrainStep::close_gateway});
    BOOST_TEST(harness.drain.gateway_closed());
    BOOST_TEST(harness.at(4s, {.gateway_open = true}) == Steps{});
}

BOOST_AUTO_TEST_CASE(the_deadline_moves_answers_and_gives_them_a_little_longer) {
    Harness harness;
    harness.begin();
    BOOST_TEST(harness.drain.next_timeout() == start + 30s);
    BOOST_TEST(harness.at(30s, {.serving = true}) == Steps{DrainStep::stop_replicas});
    BOOST_TEST(harness.at(31s, {.answering = true}) == Steps{});
    BOOST_TEST(harness.at(35s, {.answering = true}) == Steps{DrainStep::close_gateway});
    BOOST_TEST(harness.drain.close_until() == start + 37s);
    BOOST_TEST(harness.at(37s, {.gateway_open = true}) == Steps{DrainStep::leave});
}

BOOST_AUTO_TEST_CASE(kv_that_nobody_else_has_is_waited_for_until_the_deadline) {
    Harness harness;
    harness.begin();
    harness.at(1s, {});
    BOOST_TEST(harness.at(2s, {.holds_kv_alone = true}) == Steps{});
    BOOST_TEST(harness.drain.stage() == Drain::Stage::giving_away);
    BOOST_TEST(harness.at(30s, {.holds_kv_alone = true}) == (Steps{DrainStep::lose_kv, DrainStep::leave}));
}

BOOST_AUTO_TEST_CASE(a_cluster_that_does_not_hear_holds_nobody_for_good) {
    Harness harness;
    harness.begin();
    harness.at(1s, {});
    harness.at(1s, {});
    BOOST_TEST(harness.at(3s, {}) == Steps{});
    BOOST_TEST(harness.at(4s, {}) == Steps{DrainStep::close_links});
}

BOOST_AUTO_TEST_CASE(a_second_order_changes_nothing) {
    Harness harness;
    harness.begin();
    BOOST_TEST(harness.begin() == Steps{});
    BOOST_TEST(harness.drain.next_timeout() == start + 30s);
}

BOOST_AUTO_TEST_SUITE_END()
