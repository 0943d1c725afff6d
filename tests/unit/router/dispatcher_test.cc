#include "router/dispatcher.h"

#include <boost/test/unit_test.hpp>
#include <map>
#include <set>

#include "support/print.h"
#include "unit/router/cluster.h"

using namespace exa;
using namespace exa::router;
using namespace exa::router::test;
using namespace std::chrono_literals;

namespace {

// Fails the case when the decision is another one.
Attempt attempt_of(const Decision& decision) {
    const auto* attempt = std::get_if<Attempt>(&decision);
    if (attempt == nullptr) {
        const auto* reject = std::get_if<Reject>(&decision);
        BOOST_FAIL("not an attempt: " + (reject ? reject->error.message() : std::to_string(decision.index())));
        throw 0;
    }
    return *attempt;
}

Reject reject_of(const Decision& decision) {
    BOOST_REQUIRE(std::holds_alternative<Reject>(decision));
    return std::get<Reject>(decision);
}

bool is_ignored(const Decision& decision) {
    return std::holds_alternative<Ignored>(decision);
}

wire::LoadReport load_of(const ReplicaId& id, std::uint32_t in_flight) {
    wire::LoadReport load;
    load.replica = id;
    load.in_flight = in_flight;
    return load;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(dispatcher)

BOOST_AUTO_TEST_CASE(a_client_id_goes_to_the_same_replica_from_every_entry) {
    Cluster cluster(5);
    std::set<ReplicaId> replicas;
    for (int n = 0; n < 40; ++n) {
        const std::string session = "user-" + std::to_string(n);
        std::set<ReplicaId> of_session;
        for (std::uint64_t entry = 1; entry <= 5; ++entry) {
            Dispatcher dispatcher({}, test_tokens(), Rng(entry));
            dispatcher.handle_view(cluster.routing_view(entry));
            const Attempt attempt = attempt_of(dispatcher.begin(start, request_for(session)));
            BOOST_TEST(attempt.local == (attempt.peer == PeerId{entry}));
            BOOST_TEST(attempt.reason == Reason::session_owner);
            BOOST_TEST(attempt.session_token.empty());
            of_session.insert(attempt.replica);
            replicas.insert(attempt.replica);
        }
        BOOST_TEST(of_session.size() == 1u);
    }
    BOOST_TEST(replicas.size() > 7u);
}

BOOST_AUTO_TEST_CASE(a_minted_token_leads_back_to_its_replica_from_every_entry) {
    Cluster cluster(5);
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        auto first = make_dispatcher(cluster, seed);
        const Attempt minted = attempt_of(first.begin(start, request_for()));
        BOOST_REQUIRE(!minted.session_token.empty());
        Dispatcher other({}, test_tokens(), Rng(99));
        other.handle_view(cluster.routing_view(4));
        const Attempt again = attempt_of(other.begin(start, request_for(minted.session_token)));
        BOOST_TEST(again.replica == minted.replica);
        BOOST_TEST(again.position == minted.position);
        BOOST_TEST(again.session_token.empty());
    }
}

BOOST_AUTO_TEST_CASE(an_attempt_names_the_peers_link_endpoint) {
    Cluster cluster(3);
    auto dispatcher = make_dispatcher(cluster);
    const Attempt attempt = attempt_of(dispatcher.begin(start, request_for("abc")));
    BOOST_TEST(attempt.link == cluster.peer(attempt.peer.value).record.link);
    BOOST_TEST(attempt.replica.peer == attempt.peer);
    BOOST_TEST(attempt.number == 1u);
}

BOOST_AUTO_TEST_CASE(unknown_models_roles_and_versions_are_404) {
    Cluster cluster(2);
    auto dispatcher = make_dispatcher(cluster);
    auto unknown = request_for();
    unknown.model = "gpt-5";
    const Reject reject = reject_of(dispatcher.begin(start, unknown));
    BOOST_TEST(reject.status == 404);
    BOOST_TEST(reject.error.code == errc::model_not_found);
    BOOST_TEST(reject.error.message() == "model 'gpt-5': the model does not exist in this cluster");
    BOOST_TEST(!reject.retry_after.has_value());
    auto version = request_for();
    version.version = "2";
    BOOST_TEST(reject_of(dispatcher.begin(start, version)).status == 404);
    auto role = request_for();
    role.role = "embed";
    BOOST_TEST(reject_of(dispatcher.begin(start, role)).status == 404);
    BOOST_TEST(dispatcher.counters().rejected == 3u);
    BOOST_TEST(dispatcher.in_flight() == 0u);
}

BOOST_AUTO_TEST_CASE(a_known_model_with_nothing_ready_is_503_to_be_retried) {
    Cluster cluster(1, 1);
    cluster.replica(1, 0).state = wire::ReplicaState::loading;
    auto dispatcher = make_dispatcher(cluster);
    const Reject reject = reject_of(dispatcher.begin(start, request_for()));
    BOOST_TEST(reject.status == 503);
    BOOST_TEST(reject.error.code == errc::no_replica_ready);
    BOOST_REQUIRE(reject.retry_after.has_value());
    BOOST_TEST(*reject.retry_after >= 750ms);
    BOOST_TEST(*reject.retry_after <= 1'250ms);
}

BOOST_AUTO_TEST_CASE(a_prompt_too_long_for_one_replica_is_400_if_no_other_takes_more) {
    Cluster cluster(3, 1);
    auto dispatcher = make_dispatcher(cluster);
    const Attempt attempt = attempt_of(dispatcher.begin(start, request_for()));
    BOOST_TEST(reject_of(dispatcher.handle_failed(start, attempt.id, Failure::unfit)).status == 400);
}

BOOST_AUTO_TEST_CASE(a_prompt_too_long_for_one_replica_goes_only_where_more_fits) {
    Cluster cluster(6, 1);
    for (std::uint64_t p = 1; p <= 5; ++p) cluster.replica(p, 0).context_tokens = 512;
    auto dispatcher = make_dispatcher(cluster);
    for (int i = 0; i < 20; ++i) {
        const std::string session = "s" + std::to_string(i);
        const Attempt first = attempt_of(dispatcher.begin(start, request_for(session)));
        if (first.peer == PeerId{6}) continue;
        BOOST_TEST(attempt_of(dispatcher.handle_failed(start, first.id, Failure::unfit)).peer == PeerId{6});
    }
}

BOOST_AUTO_TEST_CASE(a_tenant_with_its_own_pool_uses_it_alone_and_others_cannot) {
    Cluster cluster(2, 1);
    cluster.replica(2, 0).tenant_pool = "acme";
    auto dispatcher = make_dispatcher(cluster);
    for (int i = 0; i < 20; ++i) {
        const std::string session = std::to_string(i);
        auto request = request_for(session);
        request.tenant = "acme";
        BOOST_TEST(attempt_of(dispatcher.begin(start, request)).peer == PeerId{2});
        request.tenant = "other";
        BOOST_TEST(attempt_of(dispatcher.begin(start, request)).peer == PeerId{1});
        request.tenant = "";
        BOOST_TEST(attempt_of(dispatcher.begin(start, request)).peer == PeerId{1});
    }
}

BOOST_AUTO_TEST_CASE(a_session_keeps_its_version_while_another_version_grows) {
    Cluster cluster(10, 1);
    cluster.replica(10, 0).version = "2";
    std::map<std::string, std::string> before;
    int moved_back = 0;
    int on_second = 0;
    for (std::uint64_t second = 1; second <= 5; ++second) {
        for (std::uint64_t p = 11 - second; p <= 10; ++p) cluster.replica(p, 0).version = "2";
        auto dispatcher = make_dispatcher(cluster);
        on_second = 0;
        for (int i = 0; i < 400; ++i) {
            const std::string session = "s" + std::to_string(i);
            const auto explained = dispatcher.explain(start, request_for(session));
            BOOST_REQUIRE(explained.has_value());
            const std::string version = explained.value().pool.version;
            if (before[session] == "2" && version == "1") ++moved_back;
            on_second += version == "2";
            before[session] = version;
        }
    }
    BOOST_TEST(moved_back == 0);
    BOOST_TEST(on_second > 160);  // half of 400
    BOOST_TEST(on_second < 240);
}

BOOST_AUTO_TEST_CASE(a_token_stays_with_the_version_it_was_minted_for) {
    Cluster cluster(4, 2);
    for (std::uint64_t p = 3; p <= 4; ++p)
        for (std::size_t s = 0; s < 2; ++s) cluster.replica(p, s).version = "2";
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        auto dispatcher = make_dispatcher(cluster, seed);
        const Attempt minted = attempt_of(dispatcher.begin(start, request_for()));
        const Attempt again = attempt_of(dispatcher.begin(start, request_for(minted.session_token)));
        BOOST_TEST(again.replica == minted.replica);
    }
}

BOOST_AUTO_TEST_CASE(a_failed_connect_goes_on_to_the_next_of_the_ring_and_leaves_the_peer_alone) {
    Cluster cluster(3, 2);
    auto dispatcher = make_dispatcher(cluster);
    const Attempt first = attempt_of(dispatcher.begin(start, request_for("abc")));
    const Attempt second = attempt_of(dispatcher.handle_failed(start, first.id, Failure::connect_failed));
    BOOST_TEST(second.peer != first.peer);
    BOOST_TEST(second.number == 2u);
    BOOST_TEST(second.reason == Reason::session_moved);
    BOOST_TEST(dispatcher.handle_finished(start, second.id));
    for (int i = 0; i < 50; ++i) {
        const Attempt attempt = attempt_of(dispatcher.begin(start + 249ms, request_for(std::to_string(i))));
        BOOST_TEST(attempt.peer != first.peer);
        dispatcher.handle_finished(start + 249ms, attempt.id);
    }
    const Attempt probe = attempt_of(dispatcher.begin(start + 250ms, request_for("abc")));
    BOOST_TEST(probe.replica == first.replica);
    // Until the probe has answered, the others keep away.
    BOOST_TEST(attempt_of(dispatcher.begin(start + 250ms, request_for("abc"))).peer != first.peer);
    dispatcher.handle_accepted(probe.id);
    BOOST_TEST(attempt_of(dispatcher.begin(start + 250ms, request_for("abc"))).replica == first.replica);
}

BOOST_AUTO_TEST_CASE(attempts_of_one_request_are_bounded_and_never_repeat_a_replica) {
    Cluster cluster(10, 1);
    auto dispatcher = make_dispatcher(cluster);
    std::set<ReplicaId> tried;
    Decision decision = dispatcher.begin(start, request_for("abc"));
    while (const auto* attempt = std::get_if<Attempt>(&decision)) {
        BOOST_TEST(tried.insert(attempt->replica).second);
        decision = dispatcher.handle_failed(start, attempt->id, Failure::server_error);
    }
    BOOST_TEST(tried.size() == Config().attempts_max);
    BOOST_TEST(reject_of(decision).status == 502);
    BOOST_TEST(dispatcher.in_flight() == 0u);
}

BOOST_AUTO_TEST_CASE(a_config_that_changes_live_holds_for_attempts_that_come_after_it) {
    Cluster cluster(10, 1);
    auto dispatcher = make_dispatcher(cluster);
    Decision decision = dispatcher.begin(start, request_for("abc"));
    dispatcher.set_config({.attempts_max = 2});
    std::size_t tried = 0;
    while (const auto* attempt = std::get_if<Attempt>(&decision)) {
        ++tried;
        decision = dispatcher.handle_failed(start, attempt->id, Failure::server_error);
    }
    BOOST_TEST(tried == 2U);
}

BOOST_AUTO_TEST_CASE(a_timeout_that_ends_a_request_is_504) {
    Cluster cluster(1, 1);
    auto dispatcher = make_dispatcher(cluster);
    const Attempt attempt = attempt_of(dispatcher.begin(start, request_for()));
    const Reject reject = reject_of(dispatcher.handle_failed(start, attempt.id, Failure::timeout));
    BOOST_TEST(reject.status == 504);
    BOOST_TEST(reject.error.code == errc::upstream_timeout);
}

BOOST_AUTO_TEST_CASE(late_reports_change_nothing) {
    Cluster cluster(4, 1);
    auto dispatcher = make_dispatcher(cluster);
    const Attempt first = attempt_of(dispatcher.begin(start, request_for("abc")));
    const Attempt second = attempt_of(dispatcher.handle_failed(start, first.id, Failure::server_error));
    BOOST_TEST(is_ignored(dispatcher.handle_failed(start, first.id, Failure::server_error)));
    BOOST_TEST(is_ignored(dispatcher.handle_busy(start, first.id)));
    BOOST_TEST(!dispatcher.handle_finished(start, first.id));
    BOOST_TEST(!dispatcher.handle_client_gone(start, first.id));
    dispatcher.handle_first_byte(first.id);
    BOOST_TEST(dispatcher.handle_finished(start, second.id));
    BOOST_TEST(!dispatcher.handle_finished(start, second.id));
    BOOST_TEST(is_ignored(dispatcher.handle_failed(start, second.id, Failure::link_broken)));
    BOOST_TEST(is_ignored(dispatcher.handle_failed(start, AttemptId{}, Failure::link_broken)));
    BOOST_TEST(is_ignored(dispatcher.handle_failed(start, AttemptId{~std::uint64_t{0}}, Failure::link_broken)));
    BOOST_TEST(dispatcher.counters().finished == 1u);
    BOOST_TEST(dispatcher.in_flight() == 0u);
}

BOOST_AUTO_TEST_CASE(after_the_first_byte_a_stream_breaks_unless_it_can_resume) {
    Cluster cluster(4, 1);
    auto dispatcher = make_dispatcher(cluster);
    const Attempt attempt = attempt_of(dispatcher.begin(start, request_for("abc")));
    dispatcher.handle_first_byte(attempt.id);
    const Decision broken = dispatcher.handle_failed(start, attempt.id, Failure::link_broken);
    BOOST_REQUIRE(std::holds_alternative<Broken>(broken));
    BOOST_TEST(std::get<Broken>(broken).error.code == errc::stream_broken);
    BOOST_TEST(dispatcher.counters().broken == 1u);
    BOOST_TEST(dispatcher.in_flight() == 0u);
}

BOOST_AUTO_TEST_CASE(a_resumable_stream_goes_on_only_on_equal_numerics) {
    Cluster cluster(6, 1);
    for (std::uint64_t p = 1; p <= 4; ++p) cluster.replica(p, 0).numerics = "other";
    for (int i = 0; i < 20; ++i) {
        auto dispatcher = make_dispatcher(cluster);
        const std::string session = std::to_string(i);
        auto request = request_for(session);
        request.resumable = true;
        const Attempt first = attempt_of(dispatcher.begin(start, request));
        dispatcher.handle_first_byte(first.id);
        const Attempt second = attempt_of(dispatcher.handle_failed(start, first.id, Failure::link_broken));
        BOOST_TEST(cluster.replica(first.peer.value, 0).numerics == cluster.replica(second.peer.value, 0).numerics);
        BOOST_TEST(first.numerics == second.numerics);
        BOOST_TEST(first.numerics != 0U);
        if (cluster.replica(first.peer.value, 0).numerics == "n") {
            const Decision third = dispatcher.handle_failed(start, second.id, Failure::link_broken);
            BOOST_TEST(std::holds_alternative<Broken>(third));
        }
    }
}

BOOST_AUTO_TEST_CASE(a_stream_of_undeclared_numerics_never_resumes) {
    Cluster cluster(6, 1);
    for (std::uint64_t p = 1; p <= 6; ++p) cluster.replica(p, 0).numerics.clear();
    auto dispatcher = make_dispatcher(cluster);
    auto request = request_for("abc");
    request.resumable = true;
    const Attempt first = attempt_of(dispatcher.begin(start, request));
    dispatcher.handle_first_byte(first.id);
    BOOST_TEST(std::holds_alternative<Broken>(dispatcher.handle_failed(start, first.id, Failure::link_broken)));
}

BOOST_AUTO_TEST_CASE(a_minted_session_moves_with_its_retry_until_the_client_has_seen_it) {
    Cluster cluster(6, 1);
    auto dispatcher = make_dispatcher(cluster);
    auto request = request_for();
    request.resumable = true;
    const Attempt first = attempt_of(dispatcher.begin(start, request));
    const Attempt second = attempt_of(dispatcher.handle_failed(start, first.id, Failure::server_error));
    BOOST_TEST(!second.session_token.empty());
    BOOST_TEST(second.session_token != first.session_token);
    const auto explained = dispatcher.explain(start, request_for(second.session_token));
    BOOST_TEST(explained.value().owner == second.replica);
    dispatcher.handle_first_byte(second.id);
    const Attempt third = attempt_of(dispatcher.handle_failed(start, second.id, Failure::link_broken));
    BOOST_TEST(third.session_token.empty());
    BOOST_TEST(third.position == second.position);
}

BOOST_AUTO_TEST_CASE(an_owner_above_the_bound_spills_to_the_next_and_the_spill_is_kept) {
    Cluster cluster(4, 1);
    auto dispatcher = make_dispatcher(cluster);
    std::vector<Attempt> attempts;
    for (int i = 0; i < 5; ++i) attempts.push_back(attempt_of(dispatcher.begin(start, request_for("hot"))));
    for (int i = 0; i < 4; ++i) BOOST_TEST(attempts[static_cast<std::size_t>(i)].reason == Reason::session_owner);
    const Attempt spilled = attempts[4];
    BOOST_TEST(spilled.reason == Reason::session_spilled);
    BOOST_TEST(spilled.replica != attempts[0].replica);
    for (const Attempt& attempt : attempts) dispatcher.handle_finished(start, attempt.id);
    const Attempt later = attempt_of(dispatcher.begin(start + 1h, request_for("hot")));
    BOOST_TEST(later.replica == spilled.replica);
    BOOST_TEST(later.reason == Reason::spill_kept);
    dispatcher.handle_finished(start + 1h, later.id);
    const Attempt much_later = attempt_of(dispatcher.begin(start + 3h + 1s, request_for("hot")));
    BOOST_TEST(much_later.reason == Reason::session_owner);
}

// 200 requests of one session at a time, through 16 entries that know of each other's only what the replicas answer.
BOOST_AUTO_TEST_CASE(one_hot_session_fills_its_owners_neighbours_and_is_seldom_turned_away) {
    constexpr std::uint32_t limit = 16;
    constexpr std::size_t requests = 2'000;
    constexpr std::size_t at_a_time = 200;
    Cluster cluster(128, 1, limit);
    std::vector<Dispatcher> entries;
    for (std::uint64_t entry = 1; entry <= 16; ++entry) {
        entries.emplace_back(Config{}, test_tokens(), Rng(entry));
        entries.back().handle_view(cluster.routing_view(entry));
    }
    std::map<ReplicaId, std::uint32_t> in_flight;
    std::vector<Attempt> running;
    std::size_t busy = 0;
    for (std::size_t i = 0; i < requests; ++i) {
        const TimePoint now = start + i * 2ms;
        Dispatcher& entry = entries[i % entries.size()];
        Attempt attempt = attempt_of(entry.begin(now, request_for("hot")));
        while (in_flight[attempt.replica] == limit) {
            ++busy;
            attempt = attempt_of(entry.handle_busy(now, attempt.id, load_of(attempt.replica, limit)));
        }
        ++in_flight[attempt.replica];
        running.push_back(attempt);
        if (i < at_a_time) continue;
        const Attempt& done = running[i - at_a_time];
        --in_flight[done.replica];
        entries[(i - at_a_time) % entries.size()].handle_finished(now, done.id,
                                                                  load_of(done.replica, in_flight[done.replica]));
    }
    BOOST_TEST(in_flight.size() <= 32u);
    BOOST_TEST(busy < requests / 10);
}

BOOST_AUTO_TEST_CASE(a_session_that_came_home_to_its_owner_stays_there) {
    Cluster cluster(4, 1);
    auto dispatcher = make_dispatcher(cluster);
    std::vector<Attempt> attempts;
    for (int i = 0; i < 5; ++i) attempts.push_back(attempt_of(dispatcher.begin(start, request_for("hot"))));
    for (const Attempt& attempt : attempts) dispatcher.handle_finished(start, attempt.id);
    dispatcher.handle_peer_broken(start, attempts[4].peer);
    const auto come_home = attempt_of(dispatcher.begin(start, request_for("hot")));
    BOOST_TEST(come_home.reason == Reason::session_owner);
    dispatcher.handle_finished(start, come_home.id);
    dispatcher.handle_peer_ok(attempts[4].peer);
    BOOST_TEST(attempt_of(dispatcher.begin(start, request_for("hot"))).replica == attempts[0].replica);
}

BOOST_AUTO_TEST_CASE(one_hot_session_spreads_over_its_neighbours_no_higher_than_the_bound) {
    Cluster cluster(8, 1);
    auto dispatcher = make_dispatcher(cluster);
    std::map<ReplicaId, int> loads;
    for (int i = 0; i < 64; ++i) ++loads[attempt_of(dispatcher.begin(start, request_for("hot"))).replica];
    BOOST_TEST(loads.size() >= 7u);
    for (const auto& [replica, load] : loads) BOOST_TEST(load <= 10);  // ceil(1.25 x 64 / 8)
}

BOOST_AUTO_TEST_CASE(a_busy_answer_moves_on_and_a_full_cluster_is_503) {
    Cluster cluster(3, 1, 8);
    auto dispatcher = make_dispatcher(cluster, 1, {.queue_wait = 0s});
    std::set<ReplicaId> asked;
    Decision decision = dispatcher.begin(start, request_for("abc"));
    for (int i = 0; i < 3; ++i) {
        const Attempt attempt = attempt_of(decision);
        asked.insert(attempt.replica);
        decision = dispatcher.handle_busy(start, attempt.id, load_of(attempt.replica, 8));
    }
    BOOST_TEST(asked.size() == 3u);
    const Reject reject = reject_of(decision);
    BOOST_TEST(reject.status == 503);
    BOOST_TEST(reject.error.code == errc::all_replicas_busy);
    BOOST_TEST(reject.retry_after.has_value());
    // All just said that they are full: the next request is told at once, without asking again.
    const auto attempts = dispatcher.counters().attempts;
    BOOST_TEST(reject_of(dispatcher.begin(start, request_for())).status == 503);
    BOOST_TEST(dispatcher.counters().attempts == attempts);
    // Old news is not believed for good.
    const Attempt later = attempt_of(dispatcher.begin(start + 250ms, request_for()));
    BOOST_TEST(later.reason == Reason::last_resort);
}

BOOST_AUTO_TEST_CASE(who_is_turned_away_everywhere_waits_where_the_fewest_wait) {
    Cluster cluster(3, 1, 8);
    auto dispatcher = make_dispatcher(cluster);
    Decision decision = dispatcher.begin(start, request_for("abc"));
    std::uint16_t waiting = 5;
    ReplicaId last;
    for (int i = 0; i < 3; ++i) {
        const Attempt attempt = attempt_of(decision);
        BOOST_TEST(attempt.queue_wait == 0s);
        wire::LoadReport load = load_of(attempt.replica, 8);
        load.queued = waiting--;
        last = attempt.replica;
        decision = dispatcher.handle_busy(start + 1s, attempt.id, load);
    }
    const Attempt waits = attempt_of(decision);
    BOOST_TEST(waits.reason == Reason::shortest_queue);
    BOOST_TEST(waits.replica == last);
    BOOST_TEST(waits.queue_wait == Config().queue_wait);
    BOOST_TEST(waits.number == 4u);
    // It counts there, so that the next waits elsewhere.
    for (int i = 0; i < 3; ++i) attempt_of(dispatcher.begin(start + 1s, request_for()));
    BOOST_TEST(attempt_of(dispatcher.begin(start + 1s, request_for())).replica != last);
    const Reject reject = reject_of(dispatcher.handle_failed(start + 11s, waits.id, Failure::no_permit));
    BOOST_TEST(reject.status == 503);
    BOOST_TEST(reject.retry_after.has_value());
}

BOOST_AUTO_TEST_CASE(a_cluster_known_to_be_full_is_not_asked_again_before_waiting) {
    Cluster cluster(3, 1, 8);
    for (std::uint64_t peer = 1; peer <= 3; ++peer) cluster.set_load(cluster.replica(peer, 0).id, 8, start);
    auto dispatcher = make_dispatcher(cluster);
    // What was reported a while ago counts as well.
    for (const TimePoint now : {start, start + 5s}) {
        const Attempt attempt = attempt_of(dispatcher.begin(now, request_for("abc")));
        BOOST_TEST(attempt.reason == Reason::shortest_queue);
        BOOST_TEST(attempt.number == 1u);
    }
}

BOOST_AUTO_TEST_CASE(who_waits_at_a_peer_that_dies_waits_elsewhere) {
    for (const std::uint64_t peers : {4U, 8U}) {
        Cluster cluster(peers, 1, 8);
        auto dispatcher = make_dispatcher(cluster);
        // None is known to be full; those that are asked are.
        Decision decision = dispatcher.begin(start, request_for("abc"));
        while (attempt_of(decision).queue_wait == 0s)
            decision = dispatcher.handle_busy(start, attempt_of(decision).id, load_of(attempt_of(decision).replica, 8));
        const Attempt first = attempt_of(decision);
        const Attempt second = attempt_of(dispatcher.handle_failed(start + 500ms, first.id, Failure::link_broken));
        BOOST_TEST(second.replica != first.replica);
        BOOST_TEST(second.queue_wait == Config().queue_wait - 500ms);
        BOOST_TEST(second.number <= Config().attempts_max);
    }
}

BOOST_AUTO_TEST_CASE(a_full_queue_leads_to_another_one_for_the_rest_of_the_time) {
    Cluster cluster(2, 1, 8);
    for (std::uint64_t peer = 1; peer <= 2; ++peer) cluster.set_load(cluster.replica(peer, 0).id, 8, start);
    auto dispatcher = make_dispatcher(cluster);
    const Attempt first = attempt_of(dispatcher.begin(start, request_for("abc")));
    const Attempt second = attempt_of(dispatcher.handle_busy(start + 500ms, first.id, load_of(first.replica, 8)));
    BOOST_TEST(second.replica != first.replica);
    BOOST_TEST(second.reason == Reason::shortest_queue);
    BOOST_TEST(second.queue_wait == Config().queue_wait - 500ms);
    BOOST_TEST(reject_of(dispatcher.handle_busy(start + 500ms, second.id)).status == 503);
}

BOOST_AUTO_TEST_CASE(nobody_waits_once_his_patience_is_over) {
    Cluster cluster(6, 1, 8);
    for (std::uint64_t peer = 1; peer <= 6; ++peer) cluster.set_load(cluster.replica(peer, 0).id, 8, start);
    auto dispatcher = make_dispatcher(cluster);
    Decision decision = dispatcher.begin(start, request_for("abc"));
    for (const auto after : {500ms, 1000ms}) decision = dispatcher.handle_busy(start + after, attempt_of(decision).id);
    const Attempt third = attempt_of(decision);
    BOOST_TEST(third.queue_wait == Config().queue_wait - 1000ms);
    const Attempt last = attempt_of(dispatcher.handle_busy(start + Config().queue_wait + 1ms, third.id));
    BOOST_TEST(last.number == third.number + 1);
    BOOST_TEST(last.queue_wait == 0s);
}

BOOST_AUTO_TEST_CASE(nobody_waits_where_his_request_failed_or_cannot_be_served) {
    Cluster cluster(3, 1, 8);
    for (std::uint64_t peer = 1; peer <= 3; ++peer) cluster.set_load(cluster.replica(peer, 0).id, 8, start);
    cluster.peer(1).record.state = wire::PeerState::draining;
    cluster.peer(2).record.state = wire::PeerState::draining;
    auto dispatcher = make_dispatcher(cluster);
    const Attempt attempt = attempt_of(dispatcher.begin(start, request_for("abc")));
    BOOST_TEST(attempt.replica == cluster.replica(3, 0).id);
    BOOST_TEST(reject_of(dispatcher.handle_failed(start, attempt.id, Failure::server_error)).status == 502);
}

BOOST_AUTO_TEST_CASE(a_place_that_is_known_to_be_free_is_taken_at_once) {
    Cluster cluster(3, 1, 8);
    for (std::uint64_t peer = 1; peer <= 2; ++peer) cluster.set_load(cluster.replica(peer, 0).id, 8, start);
    auto dispatcher = make_dispatcher(cluster);
    for (int i = 0; i < 8; ++i) {
        const Attempt attempt = attempt_of(dispatcher.begin(start, request_for("s" + std::to_string(i))));
        BOOST_TEST(attempt.replica == cluster.replica(3, 0).id);
        BOOST_TEST(attempt.queue_wait == 0s);
    }
    BOOST_TEST(attempt_of(dispatcher.begin(start, request_for())).queue_wait > 0s);
}

BOOST_AUTO_TEST_CASE(a_limit_that_moved_is_the_one_that_counts) {
    Cluster cluster(2, 1, 32);
    auto dispatcher = make_dispatcher(cluster);
    wire::LoadReport low = load_of(cluster.replica(1, 0).id, 6);
    low.in_flight_limit = 6;
    dispatcher.handle_load(start, low);
    for (int i = 0; i < 20; ++i)
        BOOST_TEST(attempt_of(dispatcher.begin(start, request_for())).replica == cluster.replica(2, 0).id);
}

BOOST_AUTO_TEST_CASE(waiting_in_vain_and_requests_that_do_not_fit_open_no_breaker) {
    Cluster cluster(1, 1, 8);
    auto dispatcher = make_dispatcher(cluster);
    for (int i = 0; i < 100; ++i) {
        const Failure failure = i % 2 == 0 ? Failure::no_permit : Failure::unfit;
        const Attempt attempt = attempt_of(dispatcher.begin(start, request_for()));
        BOOST_TEST(reject_of(dispatcher.handle_failed(start, attempt.id, failure)).status == (i % 2 == 0 ? 503 : 400));
    }
}

BOOST_AUTO_TEST_CASE(busy_answers_never_open_a_breaker) {
    Cluster cluster(1, 1);
    auto dispatcher = make_dispatcher(cluster, 1, {.queue_wait = 0s});
    TimePoint now = start;
    for (int i = 0; i < 100; ++i) {
        const Attempt attempt = attempt_of(dispatcher.begin(now, request_for()));
        BOOST_TEST(reject_of(dispatcher.handle_busy(now, attempt.id)).status == 503);
        now += 250ms;
    }
}

BOOST_AUTO_TEST_CASE(answers_to_bad_requests_never_open_a_breaker_and_failures_in_a_row_do) {
    Cluster cluster(1, 1);
    auto dispatcher = make_dispatcher(cluster);
    for (int i = 0; i < 4; ++i) {
        const Attempt attempt = attempt_of(dispatcher.begin(start, request_for()));
        dispatcher.handle_failed(start, attempt.id, Failure::server_error);
    }
    dispatcher.handle_finished(start, attempt_of(dispatcher.begin(start, request_for())).id);
    for (int i = 0; i < 5; ++i) {
        const Attempt attempt = attempt_of(dispatcher.begin(start, request_for()));
        dispatcher.handle_failed(start, attempt.id, Failure::server_error);
    }
    BOOST_TEST(reject_of(dispatcher.begin(start, request_for())).status == 503);
    const Attempt probe = attempt_of(dispatcher.begin(start + 2s, request_for()));
    BOOST_TEST(reject_of(dispatcher.begin(start + 2s, request_for())).status == 503);
    dispatcher.handle_first_byte(probe.id);
    attempt_of(dispatcher.begin(start + 2s, request_for()));
}

BOOST_AUTO_TEST_CASE(a_suspect_is_used_only_when_nothing_else_is_left) {
    Cluster cluster(3, 1);
    cluster.peer(2).liveness = membership::Liveness::suspect;
    auto dispatcher = make_dispatcher(cluster);
    std::vector<Attempt> attempts;
    for (int i = 0; i < 60; ++i) {
        attempts.push_back(attempt_of(dispatcher.begin(start, request_for(std::to_string(i)))));
        BOOST_TEST(attempts.back().peer != PeerId{2});
    }
    dispatcher.handle_peer_broken(start, PeerId{1});
    dispatcher.handle_peer_broken(start, PeerId{3});
    const Attempt last = attempt_of(dispatcher.begin(start, request_for("abc")));
    BOOST_TEST(last.peer == PeerId{2});
    BOOST_TEST(last.reason == Reason::last_resort);
}

BOOST_AUTO_TEST_CASE(a_draining_peer_takes_no_new_requests_and_moves_no_ring) {
    Cluster cluster(3, 1);
    auto dispatcher = make_dispatcher(cluster);
    const auto before = dispatcher.explain(start, request_for("abc")).value();
    cluster.peer(before.owner->peer.value).record.state = wire::PeerState::draining;
    dispatcher.handle_view(cluster.routing_view());
    const auto after = dispatcher.explain(start, request_for("abc")).value();
    BOOST_TEST(after.owner == before.owner);
    BOOST_TEST(after.choice != before.owner);
    BOOST_TEST(after.candidates.front().eligibility == Eligibility::draining);
    for (int i = 0; i < 30; ++i)
        BOOST_TEST(attempt_of(dispatcher.begin(start, request_for(std::to_string(i)))).replica != *before.owner);
}

BOOST_AUTO_TEST_CASE(who_is_turned_away_because_all_replicas_drain_is_told_so) {
    const auto why = [](Dispatcher& dispatcher) {
        const Reject reject = reject_of(dispatcher.begin(start, request_for("abc")));
        BOOST_TEST(reject.status == 503);
        BOOST_TEST(reject.retry_after.has_value());
        return reject.error.code;
    };
    Cluster cluster(2, 1, 8);
    for (std::uint64_t peer = 1; peer <= 2; ++peer) cluster.peer(peer).record.state = wire::PeerState::draining;
    auto by_peers = make_dispatcher(cluster);
    BOOST_TEST(why(by_peers) == errc::replicas_draining);

    // One that is only full would take it later.
    cluster.peer(2).record.state = wire::PeerState::serving;
    cluster.set_load(cluster.replica(2, 0).id, 8, start);
    auto mixed = make_dispatcher(cluster, 1, {.queue_wait = 0s});
    BOOST_TEST(why(mixed) == errc::all_replicas_busy);

    for (std::uint64_t peer = 1; peer <= 2; ++peer) cluster.replica(peer, 0).state = wire::ReplicaState::draining;
    auto by_replicas = make_dispatcher(cluster);
    BOOST_TEST(why(by_replicas) == errc::replicas_draining);
}

BOOST_AUTO_TEST_CASE(replicas_that_say_so_themselves_drain_and_others_are_out_of_reach) {
    for (const auto& [failure, code] : {std::pair(Failure::draining, errc::replicas_draining),
                                        {Failure::refused, errc::out_of_reach},
                                        {Failure::server_error, errc::upstream_failed}}) {
        Cluster cluster(2, 1);
        auto dispatcher = make_dispatcher(cluster);
        Decision decision = dispatcher.begin(start, request_for("abc"));
        for (int attempt = 0; attempt < 2; ++attempt)
            decision = dispatcher.handle_failed(start, attempt_of(decision).id, failure);
        BOOST_TEST(reject_of(decision).error.code == code);
    }
    Cluster cluster(2, 1);
    auto dispatcher = make_dispatcher(cluster);
    for (std::uint64_t peer = 1; peer <= 2; ++peer) dispatcher.handle_peer_broken(start, PeerId{peer});
    BOOST_TEST(reject_of(dispatcher.begin(start, request_for("abc"))).error.code == errc::out_of_reach);
}

BOOST_AUTO_TEST_CASE(a_replica_that_says_not_me_is_left_alone_for_a_while) {
    for (const Failure failure : {Failure::draining, Failure::refused}) {
        Cluster cluster(3, 1);
        auto dispatcher = make_dispatcher(cluster);
        const Attempt first = attempt_of(dispatcher.begin(start, request_for("abc")));
        const Attempt second = attempt_of(dispatcher.handle_failed(start, first.id, failure));
        BOOST_TEST(second.replica != first.replica);
        BOOST_TEST(attempt_of(dispatcher.begin(start + 999ms, request_for("abc"))).replica != first.replica);
        BOOST_TEST(attempt_of(dispatcher.begin(start + 1s, request_for("abc"))).replica == first.replica);
    }
}

BOOST_AUTO_TEST_CASE(the_retry_budget_ends_retries_when_everything_fails) {
    Cluster cluster(40, 1);
    Config config;
    config.retry_burst = 10;
    config.breaker_failures = 1'000;
    auto dispatcher = make_dispatcher(cluster, 1, config);
    for (int i = 0; i < 200; ++i) {
        Decision decision = dispatcher.begin(start, request_for());
        while (const auto* attempt = std::get_if<Attempt>(&decision))
            decision = dispatcher.handle_failed(start, attempt->id, Failure::server_error);
    }
    BOOST_TEST(dispatcher.counters().retries <= 10u + 200u / 5);
    BOOST_TEST(dispatcher.counters().retries > 40u);
}

BOOST_AUTO_TEST_CASE(one_prompt_beginning_shares_replicas_but_not_above_the_mean) {
    Cluster cluster(12, 1);
    auto dispatcher = make_dispatcher(cluster);
    auto request = request_for();
    request.prefix_hash = 0x1234567890abcdef;
    const Attempt first = attempt_of(dispatcher.begin(start, request));
    BOOST_TEST(first.reason == Reason::warm_prefix);
    dispatcher.handle_finished(start, first.id);
    BOOST_TEST(attempt_of(dispatcher.begin(start, request)).replica == first.replica);
    std::map<ReplicaId, int> loads;
    for (int i = 0; i < 120; ++i) ++loads[attempt_of(dispatcher.begin(start, request)).replica];
    for (const auto& [replica, load] : loads) BOOST_TEST(load <= 16);
}

BOOST_AUTO_TEST_CASE(own_dispatches_count_at_once_so_that_one_idle_replica_is_not_stampeded) {
    Cluster cluster(16, 1);
    for (std::uint64_t p = 2; p <= 16; ++p) cluster.set_load(cluster.replica(p, 0).id, 20, start);
    cluster.set_load(cluster.replica(1, 0).id, 0, start);
    auto dispatcher = make_dispatcher(cluster);
    int on_idle = 0;
    for (int i = 0; i < 400; ++i) on_idle += attempt_of(dispatcher.begin(start, request_for())).peer == PeerId{1};
    BOOST_TEST(on_idle >= 25);
    BOOST_TEST(on_idle <= 50);
}

BOOST_AUTO_TEST_CASE(requests_survive_a_view_that_moves_or_loses_their_replica) {
    Cluster cluster(4, 2);
    auto dispatcher = make_dispatcher(cluster);
    std::vector<Attempt> attempts;
    for (int i = 0; i < 24; ++i) attempts.push_back(attempt_of(dispatcher.begin(start, request_for())));
    cluster.peer(1).liveness = membership::Liveness::dead;
    dispatcher.handle_view(cluster.routing_view(2));
    const ReplicaTracker& tracker = dispatcher.tracker();
    std::uint32_t own = 0;
    for (std::uint32_t slot = 0; slot < 6; ++slot) {
        BOOST_TEST(tracker.own(slot) == std::ranges::count(attempts, tracker.id(slot), &Attempt::replica));
        own += tracker.own(slot);
    }
    BOOST_TEST(own > 0u);
    BOOST_TEST(own < 24u);
    for (const Attempt& attempt : attempts) {
        if (attempt.peer != PeerId{1}) {
            BOOST_TEST(dispatcher.handle_finished(start, attempt.id));
            continue;
        }
        const Attempt second = attempt_of(dispatcher.handle_failed(start, attempt.id, Failure::link_broken));
        BOOST_TEST(second.peer != PeerId{1});
        BOOST_TEST(dispatcher.handle_finished(start, second.id));
    }
    for (std::uint32_t slot = 0; slot < 6; ++slot) BOOST_TEST(tracker.own(slot) == 0u);
    BOOST_TEST(dispatcher.in_flight() == 0u);
}

BOOST_AUTO_TEST_CASE(explain_names_source_owner_candidates_and_choice_without_changing_anything) {
    Cluster cluster(5, 2);
    auto dispatcher = make_dispatcher(cluster);
    const auto by_client = dispatcher.explain(start, request_for("abc")).value();
    BOOST_TEST(by_client.source == PositionSource::client_id);
    BOOST_TEST(by_client.owner == by_client.choice);
    BOOST_TEST(by_client.reason == Reason::session_owner);
    BOOST_TEST(by_client.candidates.size() == 8u);
    BOOST_TEST(by_client.candidates.front().chosen);
    BOOST_TEST(by_client.candidates.front().peer_name == "peer" + std::to_string(by_client.owner->peer.value));
    const Attempt attempt = attempt_of(dispatcher.begin(start, request_for("abc")));
    BOOST_TEST(attempt.replica == *by_client.choice);
    BOOST_TEST(attempt.position == by_client.position);

    const auto without = dispatcher.explain(start, request_for()).value();
    BOOST_TEST(without.source == PositionSource::none);
    BOOST_TEST(!without.owner.has_value());
    BOOST_TEST(attempt_of(dispatcher.begin(start, request_for())).replica == *without.choice);

    auto unknown = request_for();
    unknown.model = "x";
    BOOST_TEST(dispatcher.explain(start, unknown).error().code == errc::model_not_found);
    BOOST_TEST(dispatcher.counters().begun == 2u);
}

BOOST_AUTO_TEST_CASE(an_estimate_that_is_too_long_is_no_reason_to_refuse) {
    Cluster cluster(2, 1);
    auto dispatcher = make_dispatcher(cluster);
    RequestMeta meta = request_for("abc");
    meta.prompt_tokens = 100'000;
    attempt_of(dispatcher.begin(start, meta));
}

BOOST_AUTO_TEST_CASE(prompts_on_their_way_load_a_replica_until_it_begins_to_answer) {
    Cluster cluster(1, 1, 64);
    auto dispatcher = make_dispatcher(cluster);
    RequestMeta meta = request_for("abc");
    meta.prompt_tokens = 2'048;
    const Attempt first = attempt_of(dispatcher.begin(start, meta));
    BOOST_TEST(dispatcher.tracker().load_score(0) == 300U);
    dispatcher.handle_first_byte(first.id);
    BOOST_TEST(dispatcher.tracker().load_score(0) == 100U);
    const Attempt second = attempt_of(dispatcher.begin(start, meta));
    BOOST_TEST(dispatcher.tracker().load_score(0) == 400U);
    dispatcher.handle_finished(start, second.id);
    dispatcher.handle_finished(start, first.id);
    BOOST_TEST(dispatcher.tracker().load_score(0) == 0U);
}

BOOST_AUTO_TEST_CASE(a_replica_with_late_tokens_full_memory_or_waiting_prompts_gets_fewer_requests) {
    for (int factor = 0; factor < 3; ++factor) {
        Cluster cluster(2, 1, 256);
        auto dispatcher = make_dispatcher(cluster);
        for (std::uint64_t peer = 1; peer <= 2; ++peer) {
            wire::LoadReport load = load_of(cluster.replica(peer, 0).id, 10);
            if (peer == 2 && factor == 0) load.tbt_p99_ms = 250;
            if (peer == 2 && factor == 1) load.kv_used_permille = 1'000;
            if (peer == 2 && factor == 2) load.queued_tokens = 8'192;
            dispatcher.handle_load(start, load);
        }
        std::map<PeerId, int> counts;
        for (int i = 0; i < 10; ++i) ++counts[attempt_of(dispatcher.begin(start, request_for())).peer];
        BOOST_TEST(counts[PeerId{1}] >= counts[PeerId{2}] + 3, factor);
    }
}

BOOST_AUTO_TEST_CASE(of_two_alike_the_nearer_gets_the_request_and_a_busier_one_does_not) {
    Cluster cluster(3, 1, 64);
    for (std::uint64_t peer = 1; peer <= 3; ++peer) {
        cluster.peer(peer).record.region = peer == 3 ? "there" : "here";
        cluster.peer(peer).record.rack = "r" + std::to_string(peer);
    }
    auto dispatcher = make_dispatcher(cluster, 3);
    std::map<PeerId, int> counts;
    for (int i = 0; i < 60; ++i) {
        const Attempt attempt = attempt_of(dispatcher.begin(start, request_for()));
        ++counts[attempt.peer];
        dispatcher.handle_finished(start, attempt.id);
    }
    BOOST_TEST(counts[PeerId{1}] > 50);
    BOOST_TEST(counts[PeerId{3}] == 0);
    // With as much in flight they share all the same.
    for (int i = 0; i < 60; ++i) attempt_of(dispatcher.begin(start, request_for()));
    for (std::uint32_t slot = 0; slot < 3; ++slot) BOOST_TEST(dispatcher.tracker().load(slot) >= 14U);
}

BOOST_AUTO_TEST_CASE(a_replica_that_joins_a_pool_gets_its_share_by_and_by) {
    Cluster cluster(5, 1, 256);
    cluster.replica(5, 0).state = wire::ReplicaState::loading;
    auto dispatcher = make_dispatcher(cluster);
    for (int i = 0; i < 80; ++i) attempt_of(dispatcher.begin(start, request_for()));
    cluster.replica(5, 0).state = wire::ReplicaState::ready;
    dispatcher.handle_view(cluster.routing_view());
    const auto newest = [&](TimePoint now, int requests) {
        int count = 0;
        for (int i = 0; i < requests; ++i) count += attempt_of(dispatcher.begin(now, request_for())).peer == PeerId{5};
        return count;
    };
    BOOST_TEST(newest(start, 40) <= 4);
    BOOST_TEST(dispatcher.tracker().share_permille(start, 4) == 100U);
    BOOST_TEST(dispatcher.tracker().share_permille(start + 5s, 4) == 500U);
    BOOST_TEST(newest(start + 5s, 40) <= 20);
    BOOST_TEST(newest(start + 10s, 60) >= 20);
    BOOST_TEST(dispatcher.tracker().share_permille(start + 10s, 4) == 1000U);
}

BOOST_AUTO_TEST_CASE(a_pool_that_is_new_as_a_whole_starts_at_once) {
    Cluster cluster(2, 1);
    for (std::uint64_t peer = 1; peer <= 2; ++peer) cluster.replica(peer, 0).state = wire::ReplicaState::loading;
    auto dispatcher = make_dispatcher(cluster);
    for (std::uint64_t peer = 1; peer <= 2; ++peer) cluster.replica(peer, 0).state = wire::ReplicaState::ready;
    dispatcher.handle_view(cluster.routing_view());
    for (std::uint32_t slot = 0; slot < 2; ++slot)
        BOOST_TEST(dispatcher.tracker().share_permille(start, slot) == 1000U);
}

BOOST_AUTO_TEST_CASE(low_priority_leaves_the_last_places_and_high_stays_with_its_owner) {
    Cluster cluster(4, 1, 8);
    auto dispatcher = make_dispatcher(cluster);
    RequestMeta low = request_for("abc");
    low.priority = 2;
    int at_once = 0;
    for (int i = 0; i < 25; ++i) at_once += attempt_of(dispatcher.begin(start, low)).queue_wait == 0s;
    BOOST_TEST(at_once == 4 * 6);
    BOOST_TEST(attempt_of(dispatcher.begin(start, request_for("x"))).queue_wait == 0s);

    Cluster wide(4, 1, 64);
    auto other = make_dispatcher(wide);
    RequestMeta high = request_for("abc");
    high.priority = 0;
    const Attempt first = attempt_of(other.begin(start, high));
    for (int i = 0; i < 20; ++i) BOOST_TEST(attempt_of(other.begin(start, high)).replica == first.replica);
    BOOST_TEST(attempt_of(other.begin(start, request_for("abc"))).replica != first.replica);
}

BOOST_AUTO_TEST_CASE(a_stream_that_made_progress_may_be_tried_as_often_again) {
    Cluster cluster(8, 1);
    auto dispatcher = make_dispatcher(cluster);
    RequestMeta meta = request_for("abc");
    meta.resumable = true;
    Attempt attempt = attempt_of(dispatcher.begin(start, meta));
    dispatcher.handle_first_byte(attempt.id);
    for (int i = 0; i < 12; ++i) {
        dispatcher.handle_progress(attempt.id, 64);
        const ReplicaId last = attempt.replica;
        attempt = attempt_of(dispatcher.handle_failed(start + i * 10s, attempt.id, Failure::server_error));
        BOOST_TEST(attempt.replica != last);
        BOOST_TEST(attempt.number == 2U);
    }
    for (std::uint32_t number = 3; number <= Config().attempts_max; ++number) {
        dispatcher.handle_progress(attempt.id, 63);
        attempt = attempt_of(dispatcher.handle_failed(start + 200s, attempt.id, Failure::server_error));
    }
    BOOST_TEST(
        std::holds_alternative<Broken>(dispatcher.handle_failed(start + 200s, attempt.id, Failure::server_error)));
}

BOOST_AUTO_TEST_CASE(a_request_waits_longer_where_no_other_peer_could_take_it) {
    for (const std::uint64_t peers : {1U, 2U}) {
        Cluster cluster(peers, 1, 1);
        auto dispatcher = make_dispatcher(cluster);
        for (std::uint64_t peer = 1; peer <= peers; ++peer) attempt_of(dispatcher.begin(start, request_for()));
        const Attempt waits = attempt_of(dispatcher.begin(start, request_for()));
        BOOST_TEST((waits.queue_wait == (peers == 1 ? Config{}.queue_wait_alone : Config{}.queue_wait)));
    }
    Cluster cluster(1, 1, 1);
    auto dispatcher = make_dispatcher(cluster, 1, {.queue_wait = Duration::zero()});
    attempt_of(dispatcher.begin(start, request_for()));
    BOOST_TEST(std::holds_alternative<Reject>(dispatcher.begin(start, request_for())));
}

BOOST_AUTO_TEST_CASE(a_request_that_was_refused_keeps_its_age_and_half_its_patience) {
    Cluster cluster(2, 1, 1);
    auto dispatcher = make_dispatcher(cluster);
    for (int i = 0; i < 2; ++i) attempt_of(dispatcher.begin(start, request_for()));
    RequestMeta meta = request_for();
    meta.fingerprint = 7;
    const auto wait = [&](TimePoint now) { return attempt_of(dispatcher.begin(now, meta)); };
    const Attempt first = wait(start);
    BOOST_TEST((first.queue_wait == 2s));
    BOOST_TEST(std::holds_alternative<Reject>(dispatcher.handle_failed(start + 2s, first.id, Failure::no_permit)));
    const Attempt again = wait(start + 2500ms);
    BOOST_TEST((again.queue_wait == 1s), "its deadline is over, and half is left to it");
    meta.fingerprint = 8;
    BOOST_TEST((wait(start + 2500ms).queue_wait == 2s), "another request is as young as it looks");
}

BOOST_AUTO_TEST_CASE(a_peer_is_in_doubt_when_suspect_dead_left_or_unknown_and_not_when_it_drains) {
    Cluster cluster(3, 1);
    auto dispatcher = make_dispatcher(cluster);
    const Attempt attempt = attempt_of(dispatcher.begin(start, request_for("abc")));
    Peer& target = cluster.peer(attempt.peer.value);
    const auto doubt = [&] {
        dispatcher.handle_view(cluster.routing_view());
        return dispatcher.doubt(attempt.id);
    };
    BOOST_TEST((doubt() == PeerDoubt::none));
    target.liveness = membership::Liveness::suspect;
    BOOST_TEST((doubt() == PeerDoubt::suspect));
    target.liveness = membership::Liveness::dead;
    BOOST_TEST((doubt() == PeerDoubt::dead));
    target.liveness = membership::Liveness::left;
    BOOST_TEST((doubt() == PeerDoubt::dead));
    target.liveness = membership::Liveness::alive;
    target.record.replicas[0].state = wire::ReplicaState::draining;
    BOOST_TEST((doubt() == PeerDoubt::none), "what it runs it ends");
    dispatcher.handle_finished(start, attempt.id);
    target.liveness = membership::Liveness::dead;
    BOOST_TEST((doubt() == PeerDoubt::none), "the attempt is over");
}

BOOST_AUTO_TEST_CASE(an_attempt_could_move_where_a_peer_beyond_doubt_takes_it) {
    Cluster cluster(3, 1);
    auto dispatcher = make_dispatcher(cluster);
    RequestMeta meta = request_for("abc");
    meta.resumable = true;
    const Attempt stream = attempt_of(dispatcher.begin(start, meta));
    const Attempt fixed = attempt_of(dispatcher.begin(start, request_for("abc")));
    const Attempt unstarted = attempt_of(dispatcher.begin(start, request_for("abc")));
    for (const AttemptId id : {stream.id, fixed.id}) dispatcher.handle_first_byte(id);
    BOOST_TEST(dispatcher.could_move(start, stream.id));
    BOOST_TEST(!dispatcher.could_move(start, fixed.id), "its answer cannot go on elsewhere");
    BOOST_TEST(dispatcher.could_move(start, unstarted.id));
    for (std::uint64_t peer = 1; peer <= 3; ++peer) cluster.peer(peer).liveness = membership::Liveness::suspect;
    dispatcher.handle_view(cluster.routing_view());
    BOOST_TEST(!dispatcher.could_move(start, unstarted.id), "all others are in doubt as well");
    BOOST_TEST((dispatcher.doubt(unstarted.id) == PeerDoubt::suspect));
    const std::uint64_t other = stream.peer.value % 3 + 1;
    cluster.peer(other).liveness = membership::Liveness::alive;
    dispatcher.handle_view(cluster.routing_view());
    BOOST_TEST(dispatcher.could_move(start, unstarted.id));
    const Attempt next = attempt_of(dispatcher.handle_failed(start, unstarted.id, Failure::suspect));
    BOOST_TEST(next.peer == PeerId{other});
    BOOST_TEST(!dispatcher.could_move(start, unstarted.id), "that attempt is over");
}

BOOST_AUTO_TEST_CASE(while_this_peer_is_cut_off_all_others_are_in_doubt) {
    Cluster cluster(3, 1);
    auto dispatcher = make_dispatcher(cluster);
    std::vector<Attempt> elsewhere;
    for (int i = 0; i < 20; ++i) {
        const Attempt attempt = attempt_of(dispatcher.begin(start, request_for("s" + std::to_string(i))));
        if (attempt.local)
            dispatcher.handle_finished(start, attempt.id);
        else
            elsewhere.push_back(attempt);
    }
    BOOST_TEST_REQUIRE(!elsewhere.empty());
    membership::View view = cluster.view();
    view.is_cut_off = true;
    dispatcher.handle_view(RoutingView::build(std::make_shared<const membership::View>(std::move(view)), nullptr));
    BOOST_TEST((dispatcher.doubt(elsewhere.front().id) == PeerDoubt::suspect));
    BOOST_TEST(dispatcher.could_move(start, elsewhere.front().id));
    BOOST_TEST(attempt_of(dispatcher.handle_failed(start, elsewhere.front().id, Failure::suspect)).local);
    BOOST_TEST(attempt_of(dispatcher.begin(start, request_for())).local);
}

BOOST_AUTO_TEST_CASE(a_request_that_met_silence_goes_to_this_peer_itself) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        Cluster cluster(8, 1);
        auto dispatcher = make_dispatcher(cluster, seed);
        const std::string session = "s" + std::to_string(seed);
        const Attempt first = attempt_of(dispatcher.begin(start, request_for(session)));
        if (first.local) continue;
        const Attempt next = attempt_of(dispatcher.handle_failed(start, first.id, Failure::suspect));
        BOOST_TEST(next.local);
        BOOST_TEST((next.reason == Reason::own_replica));
    }
}

BOOST_AUTO_TEST_CASE(a_request_that_met_silence_rather_waits_than_asks_a_suspect) {
    Cluster cluster(3, 1, 1);
    auto dispatcher = make_dispatcher(cluster);
    for (std::uint64_t peer = 2; peer <= 3; ++peer) cluster.peer(peer).liveness = membership::Liveness::suspect;
    dispatcher.handle_view(cluster.routing_view());
    const Attempt own = attempt_of(dispatcher.begin(start, request_for()));
    BOOST_TEST(own.local);
    const Attempt first = attempt_of(dispatcher.begin(start, request_for()));
    BOOST_TEST(!first.local, "a suspect may answer all the same");
    const Attempt next = attempt_of(dispatcher.handle_failed(start, first.id, Failure::suspect));
    BOOST_TEST(next.local);
    BOOST_TEST((next.queue_wait == Config{}.queue_wait));
}

BOOST_AUTO_TEST_SUITE_END()
