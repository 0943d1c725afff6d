#include "router/replica_tracker.h"

#include <boost/test/unit_test.hpp>

#include "support/print.h"
#include "unit/router/cluster.h"

using namespace exa;
using namespace exa::router;
using namespace exa::router::test;
using namespace std::chrono_literals;

namespace {

wire::LoadReport report(const ReplicaTracker& tracker, std::uint32_t slot, std::uint32_t in_flight, Duration age = 0s) {
    wire::LoadReport load;
    load.replica = tracker.id(slot);
    load.in_flight = in_flight;
    load.age = age;
    return load;
}

ReplicaTracker make_book(Cluster& cluster, const Config& config = {}) {
    ReplicaTracker tracker(config);
    tracker.handle_view(*cluster.routing_view());
    return tracker;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(replica_tracker)

BOOST_AUTO_TEST_CASE(load_is_the_report_plus_what_was_sent_since) {
    Cluster cluster(2, 1);
    cluster.set_load(cluster.replica(1, 0).id, 5, start);
    auto tracker = make_book(cluster);
    BOOST_TEST(tracker.load(0) == 5u);
    for (int i = 0; i < 3; ++i) tracker.start(start, 0);
    BOOST_TEST(tracker.load(0) == 8u);
    tracker.end(start, 0, HealthSignal::success, false);
    BOOST_TEST(tracker.load(0) == 7u);
    BOOST_TEST(tracker.own(0) == 2u);
}

BOOST_AUTO_TEST_CASE(a_newer_report_replaces_the_older_and_an_older_one_is_ignored) {
    Cluster cluster(1, 1);
    auto tracker = make_book(cluster);
    tracker.handle_load(start, 0, report(tracker, 0, 9));
    tracker.handle_load(start + 1s, 0, report(tracker, 0, 4, 2s));
    BOOST_TEST(tracker.load(0) == 9u);
    tracker.handle_load(start + 1s, 0, report(tracker, 0, 3));
    BOOST_TEST(tracker.load(0) == 3u);
}

BOOST_AUTO_TEST_CASE(own_requests_that_a_report_has_counted_are_not_counted_twice) {
    Cluster cluster(1, 1);
    auto tracker = make_book(cluster);
    for (int i = 0; i < 4; ++i) tracker.start(start, 0);
    tracker.handle_load(start, 0, report(tracker, 0, 6));
    BOOST_TEST(tracker.load(0) == 6u);
    tracker.start(start, 0);
    BOOST_TEST(tracker.load(0) == 7u);
    for (int i = 0; i < 5; ++i) tracker.end(start, 0, HealthSignal::success, false);
    BOOST_TEST(tracker.load(0) == 2u);
}

BOOST_AUTO_TEST_CASE(gossip_is_taken_to_have_counted_only_what_was_in_flight_all_the_while) {
    Cluster cluster(1, 1);
    cluster.set_load(cluster.replica(1, 0).id, 0, start);
    auto tracker = make_book(cluster);
    for (int i = 0; i < 10; ++i) tracker.start(start, 0);
    cluster.set_load(cluster.replica(1, 0).id, 0, start + 1s);
    tracker.handle_view(*cluster.routing_view());
    BOOST_TEST(tracker.load(0) == 10u);
    cluster.set_load(cluster.replica(1, 0).id, 10, start + 2s);
    tracker.handle_view(*cluster.routing_view());
    BOOST_TEST(tracker.load(0) == 10u);
}

BOOST_AUTO_TEST_CASE(gossip_makes_a_replica_full_only_when_it_is_so_by_the_low_estimate_too) {
    Cluster cluster(1, 1, 4);
    cluster.set_load(cluster.replica(1, 0).id, 0, start - 1s);
    auto tracker = make_book(cluster);
    for (int i = 0; i < 3; ++i) tracker.start(start, 0);
    for (int i = 0; i < 2; ++i) tracker.end(start, 0, HealthSignal::success, false);
    // Measured somewhere in between: it may have counted three of ours, so that two places are free, or none.
    cluster.set_load(cluster.replica(1, 0).id, 4, start);
    tracker.handle_view(*cluster.routing_view());
    BOOST_TEST(tracker.load(0) == 5u);
    BOOST_TEST(tracker.eligibility(start, 0) == Eligibility::looks_full);
    cluster.set_load(cluster.replica(1, 0).id, 4, start + 1s);
    tracker.handle_view(*cluster.routing_view());
    BOOST_TEST(tracker.load(0) == 4u);
    BOOST_TEST(tracker.eligibility(start + 1s, 0) == Eligibility::full);
}

BOOST_AUTO_TEST_CASE(a_load_is_never_below_what_this_entry_has_there) {
    Cluster cluster(1, 1);
    auto tracker = make_book(cluster);
    for (int i = 0; i < 4; ++i) tracker.start(start, 0);
    tracker.handle_load(start, 0, report(tracker, 0, 0));
    BOOST_TEST(tracker.load(0) == 4u);
    for (int i = 0; i < 4; ++i) tracker.end(start, 0, HealthSignal::success, false);
    BOOST_TEST(tracker.load(0) == 0u);
}

BOOST_AUTO_TEST_CASE(a_book_that_saw_every_view_knows_what_one_knows_that_saw_the_last) {
    Cluster cluster(6, 2);
    for (std::uint64_t p = 1; p <= 6; ++p) cluster.replica(p, 1).model = "other";
    auto tracker = make_book(cluster);
    Rng rng(1);
    for (std::uint32_t round = 1; round <= 200; ++round) {
        const auto& id = cluster.replica(1 + rng.below(6), rng.below(2)).id;
        if (rng.below(8) == 0)
            std::erase_if(cluster.loads, [&](const auto& load) { return load.report.replica.peer == id.peer; });
        else
            cluster.set_load(id, round, start + Duration{round});
        if (rng.below(16) == 0) cluster.peer(1 + rng.below(6)).record.version += 1;
        tracker.handle_view(*cluster.routing_view());
        const auto layout = cluster.routing_view()->layout();
        for (const auto& load : cluster.loads)
            for (const auto& place : layout->replicas_of(load.report.replica.peer))
                if (place.id == load.report.replica) BOOST_TEST(tracker.load(place.index) == load.report.in_flight);
    }
}

BOOST_AUTO_TEST_CASE(an_absurd_report_does_not_drown_the_mean) {
    Cluster cluster(2, 1);
    auto tracker = make_book(cluster);
    tracker.handle_load(start, 0, report(tracker, 0, 0xffffffff));
    BOOST_TEST(tracker.load(0) == 1'000'000u);
    BOOST_TEST(tracker.mean(1) == 500'000u);
}

BOOST_AUTO_TEST_CASE(the_bound_is_a_quarter_above_the_mean_by_weight_and_never_below_the_floor) {
    Cluster cluster(4, 1);
    cluster.replica(4, 0).weight = 5;
    auto tracker = make_book(cluster);
    BOOST_TEST(tracker.bound(0) == 4u);
    tracker.handle_load(start, 0, report(tracker, 0, 79));
    BOOST_TEST(tracker.bound(1) == 13u);  // ceil(1.25 x 80 / 8)
    BOOST_TEST(tracker.bound(3) == 63u);  // five times that before rounding
    BOOST_TEST(tracker.mean(3) == 50u);
    BOOST_TEST(tracker.eligibility(start, 0) == Eligibility::above_bound);
    BOOST_TEST(tracker.eligibility(start, 1) == Eligibility::good);
}

BOOST_AUTO_TEST_CASE(a_full_replica_is_full_while_the_news_is_fresh_and_looks_full_after) {
    Cluster cluster(1, 1, 8);
    auto tracker = make_book(cluster);
    tracker.handle_load(start, 0, report(tracker, 0, 8));
    BOOST_TEST(tracker.eligibility(start, 0) == Eligibility::full);
    BOOST_TEST(tracker.eligibility(start + 249ms, 0) == Eligibility::full);
    BOOST_TEST(tracker.eligibility(start + 250ms, 0) == Eligibility::looks_full);
    tracker.handle_load(start + 1s, 0, report(tracker, 0, 3));
    BOOST_TEST(tracker.eligibility(start + 1s, 0) == Eligibility::good);
}

BOOST_AUTO_TEST_CASE(own_requests_up_to_the_limit_make_it_full_for_certain) {
    Cluster cluster(1, 1, 2);
    auto tracker = make_book(cluster);
    tracker.start(start, 0);
    tracker.start(start, 0);
    BOOST_TEST(tracker.eligibility(start + 1h, 0) == Eligibility::full);
    tracker.end(start, 0, HealthSignal::success, false);
    BOOST_TEST(tracker.eligibility(start, 0) == Eligibility::good);
}

BOOST_AUTO_TEST_CASE(busy_holds_until_an_own_request_ends_there) {
    Cluster cluster(1, 1);
    auto tracker = make_book(cluster);
    tracker.start(start, 0);
    tracker.handle_busy(start, 0);
    BOOST_TEST(tracker.eligibility(start, 0) == Eligibility::full);
    tracker.end(start, 0, HealthSignal::success, false);
    BOOST_TEST(tracker.eligibility(start, 0) == Eligibility::good);
}

BOOST_AUTO_TEST_CASE(a_broken_peer_hides_all_its_replicas_for_a_time_that_doubles) {
    Cluster cluster(2, 2);
    auto tracker = make_book(cluster);
    TimePoint now = start;
    for (const Duration backoff : {250ms, 500ms, 1'000ms, 2'000ms, 4'000ms, 5'000ms, 5'000ms}) {
        tracker.handle_peer_broken(now, PeerId{1});
        tracker.handle_peer_broken(now, PeerId{1});  // the other streams of the same link
        for (std::uint32_t slot : {0u, 1u}) {
            BOOST_TEST(tracker.eligibility(now + backoff - 1us, slot) == Eligibility::link_broken);
            BOOST_TEST(tracker.eligibility(now + backoff, slot) == Eligibility::good);
        }
        BOOST_TEST(tracker.eligibility(now, 2) == Eligibility::good);
        now += backoff;
    }
    tracker.handle_peer_ok(PeerId{1});
    BOOST_TEST(tracker.eligibility(now, 0) == Eligibility::good);
    tracker.handle_peer_broken(now, PeerId{1});
    BOOST_TEST(tracker.eligibility(now + 250ms, 0) == Eligibility::good);
}

BOOST_AUTO_TEST_CASE(the_first_request_to_a_doubted_peer_is_a_probe_for_all_its_replicas) {
    Cluster cluster(2, 2);
    auto tracker = make_book(cluster);
    tracker.handle_peer_broken(start, PeerId{1});
    tracker.start(start + 250ms, 0);
    BOOST_TEST(tracker.eligibility(start + 250ms, 1) == Eligibility::link_broken);
    tracker.handle_replica_ok(0);
    BOOST_TEST(tracker.eligibility(start + 250ms, 1) == Eligibility::good);
}

BOOST_AUTO_TEST_CASE(standing_names_the_hardest_reason) {
    Cluster cluster(1, 1, 1);
    cluster.peer(1).liveness = membership::Liveness::suspect;
    auto tracker = make_book(cluster);
    BOOST_TEST(tracker.eligibility(start, 0) == Eligibility::suspect);
    tracker.handle_load(start, 0, report(tracker, 0, 1));
    BOOST_TEST(tracker.eligibility(start, 0) == Eligibility::full);
    for (int i = 0; i < 5; ++i) {
        tracker.start(start, 0);
        tracker.end(start, 0, HealthSignal::failure, false);
    }
    BOOST_TEST(tracker.eligibility(start, 0) == Eligibility::breaker_open);
    tracker.handle_refused(start, 0);
    BOOST_TEST(tracker.eligibility(start, 0) == Eligibility::refused);
    tracker.handle_peer_broken(start, PeerId{1});
    BOOST_TEST(tracker.eligibility(start, 0) == Eligibility::link_broken);
    cluster.peer(1).record.state = wire::PeerState::leaving;
    tracker.handle_view(*cluster.routing_view());
    BOOST_TEST(tracker.eligibility(start, 0) == Eligibility::draining);
}

BOOST_AUTO_TEST_CASE(what_is_known_of_a_replica_follows_it_to_its_new_slot) {
    Cluster cluster(3, 1);
    auto tracker = make_book(cluster);
    tracker.start(start, 2);
    tracker.handle_load(start, 2, report(tracker, 2, 7));
    tracker.handle_peer_broken(start, PeerId{3});
    tracker.start(start, 0);
    cluster.peer(1).liveness = membership::Liveness::dead;
    const auto moved = tracker.handle_view(*cluster.routing_view());
    BOOST_TEST(moved == (std::vector<std::uint32_t>{ReplicaTracker::no_replica, 0, 1}),
               boost::test_tools::per_element());
    BOOST_TEST(tracker.load(1) == 7u);
    BOOST_TEST(tracker.own(1) == 1u);
    BOOST_TEST(tracker.eligibility(start, 1) == Eligibility::link_broken);
    BOOST_TEST(tracker.mean(0) == 4u);
    BOOST_TEST(tracker.handle_view(*cluster.routing_view()).empty());
}

BOOST_AUTO_TEST_SUITE_END()
