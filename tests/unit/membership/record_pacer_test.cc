#include "membership/record_pacer.h"

#include <boost/test/unit_test.hpp>

#include "samples.h"
#include "support/print.h"

using namespace exa;
using namespace exa::membership;
using namespace exa::membership::samples;
using std::chrono::milliseconds;

namespace {

// Of `replicas`, of which `warming` are not ready yet.
wire::PeerRecord starting(std::uint16_t replicas, std::uint16_t warming) {
    wire::PeerRecord made = record(me.value, 1, replicas);
    for (std::uint16_t i = 0; i < warming; ++i) made.replicas[i].state = wire::ReplicaState::warming;
    return made;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(record_pacer)

BOOST_AUTO_TEST_CASE(the_first_change_in_a_while_is_told_at_once) {
    const RecordPacer pacer(start, Config{});
    BOOST_TEST(pacer.is_urgent(start, starting(3, 3), starting(3, 2)));
}

BOOST_AUTO_TEST_CASE(versions_of_a_record_that_goes_on_changing_are_told_further_and_further_apart) {
    const Config config;
    RecordPacer pacer(start, config);
    TimePoint now = start;
    Duration last{0};
    for (int turn = 0; turn < 10; ++turn) {
        pacer.note_told(now, config);
        BOOST_TEST(!pacer.is_urgent(now, starting(3, 3), starting(3, 2)));
        const Duration wait = pacer.due() - now;
        BOOST_TEST(wait >= last);
        BOOST_TEST(wait <= config.record_interval_max);
        last = wait;
        now = pacer.due();
    }
    BOOST_TEST(last == config.record_interval_max);
    now += 10 * config.record_interval_max;
    pacer.note_told(now, config);
    BOOST_TEST(pacer.due() == now + config.record_interval);
}

BOOST_AUTO_TEST_CASE(what_takes_something_away_or_moves_it_is_urgent) {
    const Config config;
    RecordPacer pacer(start, config);
    pacer.note_told(start, config);
    const wire::PeerRecord before = starting(3, 1);
    wire::PeerRecord gone = before;
    gone.replicas.pop_back();
    BOOST_TEST(pacer.is_urgent(start, before, gone));
    wire::PeerRecord draining = before;
    draining.replicas[2].state = wire::ReplicaState::draining;
    BOOST_TEST(pacer.is_urgent(start, before, draining));
    wire::PeerRecord moved = before;
    moved.link = endpoint(300);
    BOOST_TEST(pacer.is_urgent(start, before, moved));
    wire::PeerRecord never_ready = before;
    never_ready.replicas.erase(never_ready.replicas.begin());
    never_ready.replicas.push_back(replica(me, 9));
    never_ready.replicas.back().state = wire::ReplicaState::warming;
    BOOST_TEST(!pacer.is_urgent(start, before, never_ready));
}

BOOST_AUTO_TEST_CASE(the_last_replica_to_get_ready_is_urgent_and_the_others_are_not) {
    const Config config;
    RecordPacer pacer(start, config);
    pacer.note_told(start, config);
    BOOST_TEST(!pacer.is_urgent(start, starting(3, 2), starting(3, 1)));
    BOOST_TEST(pacer.is_urgent(start, starting(3, 1), starting(3, 0)));
}

BOOST_AUTO_TEST_SUITE_END()
