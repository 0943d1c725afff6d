#include "node/publish_schedule.h"
#include "support/print.h"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(node_publish_schedule)

using namespace exa;
using namespace exa::node;
using namespace std::chrono_literals;

namespace {

constexpr TimePoint start{1000s};

}  // namespace

BOOST_AUTO_TEST_CASE(urgent_changes_are_published_at_once_and_once) {
    PublishSchedule schedule;
    schedule.handle_published(start);
    BOOST_TEST(schedule.handle_change(start + 1ms, true, true) == start + 1ms);
    BOOST_TEST(!schedule.handle_change(start + 1ms, true, true).has_value());
    schedule.handle_published(start + 2ms);
    BOOST_TEST(schedule.handle_change(start + 3ms, true, true) == start + 3ms);
}

BOOST_AUTO_TEST_CASE(other_changes_wait_for_one_another_longer_while_nobody_reads) {
    for (const bool read : {true, false}) {
        PublishSchedule schedule;
        schedule.handle_published(start);
        BOOST_TEST(
            (schedule.handle_change(start + 1ms, false, read) == start + (read ? Duration(20ms) : Duration(1s))));
        BOOST_TEST(!schedule.handle_change(start + 2ms, false, read).has_value());
    }
}

BOOST_AUTO_TEST_CASE(an_urgent_change_overtakes_a_plan) {
    PublishSchedule schedule;
    schedule.handle_published(start);
    schedule.handle_change(start + 1ms, false, false);
    BOOST_TEST(schedule.handle_change(start + 2ms, true, false) == start + 2ms);
    BOOST_TEST(!schedule.handle_change(start + 2ms, false, false).has_value());
}

BOOST_AUTO_TEST_CASE(a_change_after_a_long_quiet_is_published_at_once) {
    PublishSchedule schedule;
    schedule.handle_published(start);
    BOOST_TEST(schedule.handle_change(start + 1h, false, false) == start + 1h);
}

BOOST_AUTO_TEST_CASE(deaths_are_urgent_and_joins_are_not) {
    using membership::EventKind;
    for (const EventKind kind : {EventKind::suspect, EventKind::dead, EventKind::lost, EventKind::left})
        BOOST_TEST(is_urgent(kind));
    for (const EventKind kind : {EventKind::joined, EventKind::alive, EventKind::updated}) BOOST_TEST(!is_urgent(kind));
}

BOOST_AUTO_TEST_SUITE_END()
