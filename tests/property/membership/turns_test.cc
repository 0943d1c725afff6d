// What peers may do in their lives: leave, come back, be cut off, be cloned, change their records.
#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "cluster.h"
#include "support/print.h"

using namespace exa;
using namespace exa::membership;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

namespace {

std::size_t told_of(const Cluster& cluster, std::size_t subject, EventKind kind, TimePoint since = TimePoint{}) {
    std::size_t count = 0;
    for (const auto& happening : cluster.happenings())
        if (happening.at >= since && happening.event.kind == kind && happening.event.peer == cluster.peer(subject).id &&
            happening.peer != subject)
            ++count;
    return count;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(turns)

BOOST_AUTO_TEST_CASE(leaving_is_seen_as_left_by_all_and_as_dead_by_none) {
    for (const std::size_t peers : {2U, 3U, 40U}) {
        Cluster cluster(31 + peers, {.loss = 0.1, .latency_max = milliseconds{20}});
        cluster.up_all(peers, seconds{2});
        cluster.run_for(seconds{10});
        cluster.command(1, [&](Membership& core) { BOOST_TEST(core.leave(cluster.now()).has_value()); });
        cluster.run_for(milliseconds{1500});
        BOOST_TEST(cluster.count(EventKind::left_cluster) == 1U);
        cluster.crash(1);
        cluster.run_for(seconds{40});
        BOOST_TEST(told_of(cluster, 1, EventKind::left) == peers - 1, peers << " peers");
        BOOST_TEST(cluster.count(EventKind::dead) == 0U, peers << " peers");
        cluster.run_for(minutes{3});
        for (std::size_t i = 0; i < peers; ++i)
            if (i != 1) BOOST_TEST(cluster.core(i).view()->find(cluster.peer(1).id) == nullptr);
    }
}

BOOST_AUTO_TEST_CASE(a_new_instance_is_taken_in_at_once_even_if_the_old_one_is_not_dead) {
    for (const auto down : {milliseconds{100}, milliseconds{3000}, milliseconds{20000}, milliseconds{60000}}) {
        Cluster cluster(41, {.loss = 0.02});
        cluster.up_all(30, seconds{2});
        cluster.run_for(seconds{10});
        cluster.crash(7);
        cluster.run_for(down);
        cluster.up(7, {0, 7});
        const TimePoint back = cluster.now();
        const Duration took = cluster.converge(seconds{10});
        BOOST_TEST(took < seconds{3}, down.count() << " ms down, " << took.count() << " us");
        cluster.run_for(seconds{20});
        BOOST_TEST(cluster.fault() == "");
        BOOST_TEST(told_of(cluster, 7, EventKind::dead, back) == 0U, down.count() << " ms down");
    }
}

BOOST_AUTO_TEST_CASE(the_seed_itself_comes_back_through_the_others_redialling) {
    Cluster cluster(42, {});
    cluster.up_all(5, seconds{1});
    cluster.run_for(seconds{10});
    cluster.crash(0);
    cluster.run_for(minutes{5});
    // Its only seed is itself: it thinks it is the first.
    cluster.up(0, {0});
    BOOST_TEST(cluster.converge(seconds{40}) < seconds{40});
}

BOOST_AUTO_TEST_CASE(a_healed_partition_becomes_one_cluster_again) {
    for (const auto cut : {seconds{8}, seconds{90}}) {
        Cluster cluster(51, {.loss = 0.01});
        cluster.up_all(40, seconds{2});
        cluster.run_for(seconds{15});
        for (std::size_t i = 0; i < 20; ++i) cluster.set_side(i, 1);
        cluster.run_for(cut);
        // Half the cluster is more than may be lost at once: it stays dead.
        if (cut > seconds{60})
            for (std::size_t i = 0; i < 40; ++i)
                BOOST_TEST(cluster.core(i).view()->find(cluster.peer((i + 20) % 40).id)->liveness == Liveness::dead);
        for (std::size_t i = 0; i < 20; ++i) cluster.set_side(i, 0);
        const Duration took = cluster.converge(seconds{60});
        BOOST_TEST(took < seconds{25}, cut.count() << " s cut, " << took.count() << " us");
        cluster.run_for(seconds{30});
        BOOST_TEST(cluster.fault() == "");
    }
}

BOOST_AUTO_TEST_CASE(a_partition_heals_although_all_seeds_are_gone) {
    Cluster cluster(52, {});
    cluster.up_all(40, seconds{2});
    cluster.run_for(seconds{15});
    for (std::size_t i = 0; i < 40; i += 2) cluster.set_side(i, 1);
    cluster.crash(0);
    cluster.crash(1);
    cluster.run_for(minutes{10});
    for (std::size_t i = 0; i < 40; ++i) cluster.set_side(i, 0);
    const Duration took = cluster.converge(seconds{60});
    BOOST_TEST(took < seconds{25}, took.count() << " us");
}

BOOST_AUTO_TEST_CASE(a_stopped_process_that_goes_on_refutes_its_death) {
    Cluster cluster(61, {});
    cluster.up_all(20, seconds{1});
    cluster.run_for(seconds{10});
    cluster.set_side(3, 1);
    cluster.run_for(seconds{20});
    BOOST_TEST(told_of(cluster, 3, EventKind::dead) == 19U);
    cluster.set_side(3, 0);
    BOOST_TEST(cluster.converge(seconds{30}) < seconds{30});
    BOOST_TEST(cluster.core(3).incarnation().value > 0U);
}

BOOST_AUTO_TEST_CASE(records_too_big_for_a_packet_reach_everyone_over_links) {
    Cluster cluster(71, {.loss = 0.05});
    cluster.up_all(30, seconds{2});
    cluster.run_for(seconds{10});
    wire::PeerRecord record = cluster.record(4, 200);
    for (std::size_t i = 0; i < record.replicas.size(); ++i)
        record.replicas[i].numerics = std::string(60, static_cast<char>('a' + i % 26)) + std::to_string(i);
    cluster.command(4, [&](Membership& core) { BOOST_TEST(core.set_record(cluster.now(), record).has_value()); });
    const Duration took = cluster.converge(seconds{20});
    BOOST_TEST(took < seconds{5}, took.count() << " us");
    // And so does a change of one replica, which fits.
    record.replicas[17].state = wire::ReplicaState::draining;
    record.replicas.erase(record.replicas.begin() + 30);
    cluster.command(4, [&](Membership& core) { BOOST_TEST(core.set_record(cluster.now(), record).has_value()); });
    BOOST_TEST(cluster.converge(seconds{20}) < seconds{5});
}

BOOST_AUTO_TEST_CASE(a_burst_of_versions_by_all_ends_with_the_last_one_everywhere) {
    Cluster cluster(81, {.loss = 0.1, .duplicate = 0.1, .latency_max = milliseconds{50}});
    cluster.up_all(40, seconds{2});
    cluster.run_for(seconds{10});
    for (int round = 0; round < 30; ++round) {
        for (std::size_t i = 0; i < 40; ++i) {
            wire::PeerRecord record = cluster.core(i).record();
            const std::size_t replica = cluster.rng().below(record.replicas.size());
            record.replicas[replica].state = static_cast<wire::ReplicaState>(cluster.rng().below(8));
            cluster.command(i, [&](Membership& core) { (void)core.set_record(cluster.now(), record); });
        }
        cluster.run_for(milliseconds{100});
    }
    const Duration took = cluster.converge(seconds{60});
    BOOST_TEST(took < seconds{15}, took.count() << " us");
}

BOOST_AUTO_TEST_CASE(loads_reach_everyone_beside_a_flood_of_other_updates) {
    Cluster cluster(91, {});
    cluster.up_all(60, seconds{2});
    cluster.run_for(seconds{5});
    for (std::size_t i = 40; i < 60; ++i) cluster.crash(i);
    for (int second = 0; second < 8; ++second) {
        for (std::size_t i = 0; i < 40; ++i) {
            const auto at = static_cast<std::uint32_t>(10 * second + 1);
            const wire::LoadReport reports[] = {
                {cluster.core(i).record().replicas[0].id, at, at * 100, 5, Duration{0}},
                {cluster.core(i).record().replicas[1].id, at, at * 100, 5, Duration{0}}};
            cluster.command(i, [&](Membership& core) { core.set_loads(cluster.now(), reports); });
        }
        cluster.run_for(seconds{1});
    }
    std::size_t fresh = 0;
    for (std::size_t i = 0; i < 40; ++i) {
        const auto view = cluster.core(i).view();
        for (std::size_t j = 0; j < view->loads.size(); ++j)
            for (const LoadEntry& entry : view->loads[j]->entries)
                fresh += cluster.now() - entry.measured < seconds{4} ? 1 : 0;
    }
    BOOST_TEST(fresh > 40U * 80U * 9 / 10);
}

BOOST_AUTO_TEST_CASE(a_clone_of_a_live_peer_refuses_to_serve_and_changes_nothing) {
    Cluster cluster(95, {});
    cluster.up_all(10, seconds{1});
    cluster.run_for(seconds{5});
    const std::size_t clone = cluster.add_peer();
    cluster.clone_id(3, clone);
    cluster.up(clone, {0, 1});
    cluster.run_for(seconds{10});
    BOOST_TEST(cluster.core(clone).is_over());
    const auto refused = [&](const auto& happening) {
        return happening.peer == clone && happening.event.kind == EventKind::id_conflict && happening.event.refuse;
    };
    BOOST_TEST(std::ranges::count_if(cluster.happenings(), refused) == 1);
    for (std::size_t i = 0; i < 10; ++i) {
        BOOST_TEST(!cluster.core(i).is_over());
        BOOST_TEST(*cluster.core(i).view()->find(cluster.peer(3).id)->record == cluster.core(3).record());
    }
    BOOST_TEST(cluster.count(EventKind::dead) == 0U);
}

BOOST_AUTO_TEST_CASE(the_same_seed_gives_the_same_history) {
    const auto history = [](std::uint64_t seed) {
        Cluster cluster(seed, {.loss = 0.1, .duplicate = 0.05});
        cluster.up_all(30, seconds{2});
        cluster.run_for(seconds{5});
        cluster.kill(4);
        cluster.run_for(seconds{15});
        return cluster.history();
    };
    BOOST_TEST(history(5) == history(5));
    BOOST_TEST(history(5) != history(6));
}

// Everything at once: some 150 turns of lives within a minute.
BOOST_AUTO_TEST_CASE(after_any_churn_every_view_is_right) {
    Cluster cluster(101, {.loss = 0.03, .duplicate = 0.02, .latency_max = milliseconds{20}});
    cluster.up_all(120, seconds{5});
    cluster.converge(seconds{20});
    Rng dice(7);
    for (int step = 0; step < 150; ++step) {
        const std::size_t i = 2 + dice.below(cluster.size() - 2);
        if (!cluster.is_up(i) || cluster.core(i).is_over())
            cluster.up(i, {dice.below(cluster.size()), 0, 1});
        else if (const auto turn = dice.below(4); turn == 0)
            cluster.crash(i);
        else if (turn == 1)
            cluster.kill(i);
        else if (turn == 2)
            cluster.command(i, [&](Membership& core) { (void)core.leave(cluster.now()); });
        else
            cluster.up(cluster.add_peer(), {i, 0});
        cluster.run_for(milliseconds{static_cast<std::int64_t>(dice.below(600))});
    }
    const Duration took = cluster.converge(seconds{60});
    BOOST_TEST(took < seconds{20}, took.count() << " us");
    BOOST_TEST(cluster.fault() == "");
    cluster.run_for(seconds{20});
    BOOST_TEST(cluster.fault() == "");
}

BOOST_AUTO_TEST_SUITE_END()
