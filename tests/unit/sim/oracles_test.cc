// Oracles: what they say of news that a cluster does not bring forth by itself.
#include "sim/checks/oracles.h"

#include <boost/test/unit_test.hpp>
#include <string>

#include "io/crypto/openssl_crypto.h"
#include "membership/event.h"
#include "support/print.h"

using namespace exa;
using namespace exa::sim;
using std::chrono::seconds;
using Told = membership::EventKind;

namespace {

Scenario watching_m4() {
    auto parsed = parse_scenario("test", "watch = ['M4']\n[cluster]\npeers = 5\nreplicas = 0\n", {});
    BOOST_REQUIRE(parsed.has_value());
    return std::move(parsed).value();
}

// Five peers, of which the last went down in its incarnation 1 half a minute ago and was called dead in incarnation 0:
// what it said in between has reached nobody.
struct World {
    World() {
        cluster.watch(&oracles);
        for (Host host = 0; host < cluster.size(); ++host) cluster.boot(host, WorldTime{});
        cluster.run_until(WorldTime{seconds{5}});
        id = cluster.peer(4).id;
        cluster.filter([](Host from, Host, bool, Bytes&) { return from != 4; });
        while (cluster.peer(4).node->membership().incarnation() == Incarnation{0})
            cluster.run_until(cluster.now() + std::chrono::milliseconds{10});
        cluster.crash(4);
        cluster.run_until(cluster.now() + seconds{30});
        BOOST_TEST_REQUIRE(cluster.peer(0).node->membership().roster().find(id)->liveness ==
                           membership::Liveness::dead);
        BOOST_TEST_REQUIRE(oracles.violation_count() == 0U);
    }

    // What the oracles say when peer 0 takes it for alive again.
    std::string verdict(std::uint64_t incarnation) {
        const std::uint32_t life = cluster.peer(0).node->membership().roster().find(id)->instance;
        oracles.on_told(cluster.now(), cluster.peer(0),
                        {Told::alive, id, Generation{1}, {}, false, Incarnation{incarnation}, life});
        return oracles.violations().empty() ? std::string() : oracles.violations().front().what;
    }

    Scenario scenario = watching_m4();
    io::crypto::OpenSslCrypto crypto;
    Cluster cluster{scenario.cluster, 1, crypto};
    Oracles oracles{scenario, cluster};
    PeerId id;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(oracles)

BOOST_AUTO_TEST_CASE(nobody_returns_in_the_incarnation_that_was_called_dead_however_late_the_reader_is) {
    World world;
    world.cluster.set_input_cost(0, std::chrono::milliseconds{100});
    BOOST_TEST(world.verdict(0).find("which it had called dead in 0") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_refutation_from_long_before_a_crash_is_not_late_gossip) {
    World world;
    BOOST_TEST(world.verdict(1).find("went down 3") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_refutation_may_be_read_late_where_a_process_is_slow) {
    World world;
    world.cluster.set_input_cost(2, std::chrono::milliseconds{100});
    BOOST_TEST(world.verdict(1).empty());
}

BOOST_AUTO_TEST_CASE(a_refutation_may_arrive_late_over_a_clogged_line) {
    World world;
    std::uint64_t effects = 0;
    Rule clog;
    clog.kind = RuleKind::clog;
    clog.from.assign(world.cluster.size(), 0);
    clog.to.assign(world.cluster.size(), 0);
    clog.from[2] = clog.to[3] = 1;
    world.cluster.network().add(clog, &effects);
    BOOST_TEST(world.verdict(1).empty());
}

BOOST_AUTO_TEST_CASE(a_peer_that_left_does_not_return) {
    World world;
    world.cluster.filter({});
    world.cluster.leave(3);
    world.id = world.cluster.peer(3).id;
    world.cluster.run_until(world.cluster.now() + seconds{10});
    BOOST_REQUIRE(!world.cluster.peer(3).is_up());
    BOOST_TEST(world.verdict(7).find("which left") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_death_of_an_earlier_instance_of_the_same_generation_is_not_false) {
    auto parsed = parse_scenario("test", "watch = ['no-false-deaths']\n[cluster]\npeers = 5\nreplicas = 0\n", {});
    Scenario scenario = std::move(parsed).value();
    scenario.cluster.mutant = Mutant::generation_not_persisted;
    const io::crypto::OpenSslCrypto crypto;
    Cluster cluster(scenario.cluster, 1, crypto);
    Oracles oracles(scenario, cluster);
    cluster.watch(&oracles);
    for (Host host = 0; host < cluster.size(); ++host) cluster.boot(host, WorldTime{});
    const Peer& again = cluster.peer(4);
    for (const std::uint32_t life : {2U, 3U}) {
        cluster.run_until(cluster.now() + seconds{20});
        cluster.crash(4);
        // The cluster would tell it that it is there twice, and it would stop.
        if (life == 3) cluster.filter([](Host from, Host to, bool, Bytes&) { return from != 4 && to != 4; });
        cluster.boot(4, cluster.now());
        cluster.run_until(cluster.now() + std::chrono::milliseconds{10});
    }
    BOOST_TEST_REQUIRE(again.is_up());
    BOOST_TEST_REQUIRE(again.boots == 3U);
    BOOST_TEST_REQUIRE(again.generation == Generation{2});
    const auto tell = [&](std::uint64_t incarnation) {
        oracles.on_told(cluster.now(), cluster.peer(0),
                        {Told::dead, again.id, Generation{2}, cluster.peer(1).id, false, Incarnation{incarnation},
                         again.node->membership().instance()});
        return oracles.violation_count();
    };
    BOOST_TEST(tell(0) == 0U);
    // The former life was never in this one.
    BOOST_TEST(tell(1) == 1U);
    // By now all have heard of it.
    cluster.run_until(cluster.now() + seconds{60});
    BOOST_TEST(tell(0) == 2U);
}

BOOST_AUTO_TEST_SUITE_END()
