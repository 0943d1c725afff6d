#include "membership/timers.h"
#include "support/print.h"

#include <boost/test/unit_test.hpp>

using namespace exa;
using namespace exa::membership;
using std::chrono::seconds;

BOOST_AUTO_TEST_SUITE(timers)

BOOST_AUTO_TEST_CASE(due_timers_come_in_the_order_of_their_deadlines) {
    Timers timers;
    BOOST_TEST(timers.next() == time_never);
    timers.set({TimerKind::suspicion, 7}, TimePoint{seconds{3}});
    timers.set({TimerKind::suspicion, 5}, TimePoint{seconds{1}});
    timers.set({TimerKind::probe}, TimePoint{seconds{2}});
    BOOST_TEST(timers.next() == TimePoint{seconds{1}});
    BOOST_TEST(timers.take_due(TimePoint{seconds{2}}) == (TimerKey{TimerKind::suspicion, 5}));
    BOOST_TEST(timers.take_due(TimePoint{seconds{2}}) == TimerKey{TimerKind::probe});
    BOOST_TEST(!timers.take_due(TimePoint{seconds{2}}).has_value());
    BOOST_TEST(timers.next() == TimePoint{seconds{3}});
}

BOOST_AUTO_TEST_CASE(set_sooner_only_ever_brings_a_deadline_forward) {
    Timers timers;
    timers.set_sooner({TimerKind::gossip}, TimePoint{seconds{5}});
    timers.set_sooner({TimerKind::gossip}, TimePoint{seconds{9}});
    BOOST_TEST(timers.next() == TimePoint{seconds{5}});
    timers.set_sooner({TimerKind::gossip}, TimePoint{seconds{2}});
    BOOST_TEST(timers.next() == TimePoint{seconds{2}});
}

BOOST_AUTO_TEST_CASE(put_off_moves_what_is_due_of_one_kind_and_nothing_else) {
    Timers timers;
    for (std::uint64_t of = 1; of <= 4; ++of) timers.set({TimerKind::lost, of}, TimePoint{seconds{of}});
    timers.set({TimerKind::forget, 2}, TimePoint{seconds{2}});
    timers.put_off(TimerKind::lost, TimePoint{seconds{1}}, TimePoint{seconds{3}}, TimePoint{seconds{9}});
    BOOST_TEST(timers.take_due(TimePoint{seconds{8}}) == (TimerKey{TimerKind::lost, 1}));
    BOOST_TEST(timers.take_due(TimePoint{seconds{8}}) == (TimerKey{TimerKind::forget, 2}));
    BOOST_TEST(timers.take_due(TimePoint{seconds{8}}) == (TimerKey{TimerKind::lost, 4}));
    BOOST_TEST(!timers.take_due(TimePoint{seconds{8}}).has_value());
    BOOST_TEST(timers.take_due(TimePoint{seconds{9}}) == (TimerKey{TimerKind::lost, 2}));
    BOOST_TEST(timers.take_due(TimePoint{seconds{9}}) == (TimerKey{TimerKind::lost, 3}));
}

BOOST_AUTO_TEST_CASE(a_later_set_replaces_and_a_cancel_removes) {
    Timers timers;
    timers.set({TimerKind::gossip}, TimePoint{seconds{1}});
    timers.set({TimerKind::gossip}, TimePoint{seconds{9}});
    BOOST_TEST(!timers.take_due(TimePoint{seconds{5}}).has_value());
    BOOST_TEST(timers.is_set({TimerKind::gossip}));
    timers.cancel({TimerKind::gossip});
    BOOST_TEST(!timers.is_set({TimerKind::gossip}));
    BOOST_TEST(timers.next() == time_never);
    timers.set({TimerKind::gossip}, TimePoint{seconds{1}});
    timers.clear();
    BOOST_TEST(!timers.take_due(TimePoint{seconds{5}}).has_value());
}

BOOST_AUTO_TEST_CASE(equal_deadlines_come_in_the_order_of_their_keys_whichever_was_set_first) {
    Timers timers;
    for (const std::uint64_t of : {5U, 2U, 9U, 7U}) timers.set({TimerKind::lost, of}, TimePoint{seconds{1}});
    timers.set({TimerKind::probe}, TimePoint{seconds{1}});
    timers.cancel({TimerKind::lost, 7});
    BOOST_TEST(timers.take_due(TimePoint{seconds{1}}) == TimerKey{TimerKind::probe});
    for (const std::uint64_t of : {2U, 5U, 9U})
        BOOST_TEST(timers.take_due(TimePoint{seconds{1}}) == (TimerKey{TimerKind::lost, of}));
    BOOST_TEST(timers.next() == time_never);
}

BOOST_AUTO_TEST_SUITE_END()
