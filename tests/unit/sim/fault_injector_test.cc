// FaultInjector: every fault begins, counts what it did, and ends.
#include "sim/faults/fault_injector.h"

#include <fmt/format.h>

#include <boost/test/unit_test.hpp>
#include <string>

#include "io/crypto/openssl_crypto.h"
#include "support/print.h"

using namespace exa;
using namespace exa::sim;
using std::chrono::seconds;

namespace {

Scenario with_fault(const std::string& fault, bool encrypted = false) {
    const std::string text = fmt::format(
        "watch = []\n[cluster]\npeers = 6\nreplicas = 1\nencrypted = {}\n[[fault]]\nat_s = 5\n{}\n", encrypted, fault);
    auto parsed = parse_scenario("test", text, {});
    BOOST_REQUIRE_MESSAGE(parsed.has_value(), fault);
    return std::move(parsed).value();
}

// A cluster with one fault from its fifth second on.
struct World {
    explicit World(const std::string& fault, bool encrypted = false) : scenario(with_fault(fault, encrypted)) {
        cluster.watch(&oracles);
        cluster.on_handled(
            [this](Host from, const Peer& to, const Bytes& bytes) { injector.remember(from, to, bytes); });
        for (Host host = 0; host < cluster.size(); ++host) cluster.boot(host, WorldTime{});
        injector.start();
    }
    void run_until(double at) { cluster.run_until(WorldTime{duration_of(at)}); }
    std::uint64_t effects() const { return injector.effects().at(0); }

    Scenario scenario;
    io::crypto::OpenSslCrypto crypto;
    Cluster cluster{scenario.cluster, 1, crypto};
    Oracles oracles{scenario, cluster};
    FaultInjector injector{scenario, cluster, oracles};
};

}  // namespace

BOOST_AUTO_TEST_SUITE(fault_injector)

BOOST_AUTO_TEST_CASE(a_crashed_or_paused_peer_comes_back_when_the_fault_ends) {
    World crash("kind = 'crash'\nhosts = [2]\nfor_s = 3");
    crash.run_until(6);
    BOOST_TEST(!crash.cluster.peer(2).is_up());
    crash.run_until(9);
    BOOST_TEST(crash.cluster.peer(2).is_up());
    BOOST_TEST(crash.effects() == 1U);

    World pause("kind = 'pause'\nhosts = [2]\nfor_s = 3");
    pause.run_until(6);
    BOOST_TEST(!pause.cluster.peer(2).is_punctual());
    pause.run_until(12);
    BOOST_TEST(pause.cluster.peer(2).is_punctual());
    BOOST_TEST(pause.effects() == 1U);
}

BOOST_AUTO_TEST_CASE(a_peer_that_leaves_starts_again_after_it_has_left) {
    World world("kind = 'leave'\nhosts = [2]\nfor_s = 4");
    world.run_until(8.9);
    BOOST_TEST(!world.cluster.peer(2).is_up());
    world.run_until(12);
    BOOST_TEST(world.cluster.peer(2).is_up());
    BOOST_TEST(world.effects() == 1U);
}

BOOST_AUTO_TEST_CASE(a_stolen_name_is_given_back_at_the_end) {
    World world("kind = 'name_steal'\nhosts = [2]\nfor_s = 3");
    world.run_until(6);
    BOOST_TEST(world.cluster.peer(2).name != Cluster::name_of(2));
    world.run_until(9);
    BOOST_TEST(world.cluster.peer(2).name == Cluster::name_of(2));
}

BOOST_AUTO_TEST_CASE(network_faults_hit_traffic_only_while_they_last) {
    for (const char* kind :
         {"cut", "cut_udp", "cut_link", "loss", "duplicate", "reorder", "corrupt", "delay", "clog"}) {
        World world(fmt::format("kind = '{}'\nhosts = [2, 3]\nfor_s = 3\nms = 5", kind));
        world.run_until(8.5);
        const std::uint64_t during = world.effects();
        BOOST_TEST(during > 0U, kind);
        world.run_until(12);
        BOOST_TEST(world.effects() == during, kind);
    }
}

BOOST_AUTO_TEST_CASE(a_cut_holds_in_both_directions_unless_it_is_one_way) {
    for (const bool one_way : {false, true}) {
        World world(fmt::format("kind = 'cut'\nhosts = [2]\nfor_s = 20\none_way = {}", one_way));
        world.run_until(6);
        const std::uint64_t early = world.effects();
        world.run_until(9);
        BOOST_TEST(world.effects() > early);
        BOOST_TEST(world.cluster.network().is_cut(2));
    }
}

BOOST_AUTO_TEST_CASE(storage_faults_set_and_clear_what_the_disk_does) {
    World world("kind = 'disk_full'\nhosts = [2]\nfor_s = 3");
    world.run_until(6);
    BOOST_TEST(world.cluster.peer(2).disk.faults().full);
    world.run_until(9);
    BOOST_TEST(!world.cluster.peer(2).disk.faults().full);

    World slow("kind = 'disk_slow'\nhosts = [2]\nfor_s = 3\nms = 700");
    slow.run_until(6);
    BOOST_TEST(slow.cluster.peer(2).disk.faults().sync_time == std::chrono::milliseconds{700});
    slow.run_until(9);
    BOOST_TEST(slow.cluster.peer(2).disk.faults().sync_time == DiskFaults{}.sync_time);
    BOOST_TEST(slow.effects() == 1U);
}

BOOST_AUTO_TEST_CASE(packet_faults_send_at_their_rate_until_they_end) {
    for (const char* kind : {"garbage", "forge", "replay", "oversize"}) {
        World world(fmt::format("kind = '{}'\nfor_s = 2\nrate = 50", kind));
        world.run_until(20);
        BOOST_TEST(world.effects() >= 90U, kind);
        BOOST_TEST(world.effects() <= 101U, kind);
    }
}

BOOST_AUTO_TEST_CASE(key_faults_rotate_the_keys_of_an_encrypted_cluster) {
    World world("kind = 'key_add'\nhosts = [2]", true);
    world.run_until(15);
    BOOST_TEST(world.effects() == 1U);
    BOOST_TEST(world.cluster.peer(4).node->keys().installed().size() == 2U);
}

BOOST_AUTO_TEST_CASE(client_and_kv_faults_reach_whoever_drives_them) {
    World load("kind = 'load'\nrate = 5\nfor_s = 2");
    std::vector<double> factors;
    load.injector.drive_clients([&](double factor) { factors.push_back(factor); }, {});
    load.run_until(10);
    BOOST_TEST(factors == (std::vector<double>{5, 1}));
    BOOST_TEST(load.effects() == 1U);

    World rot("kind = 'kv_rot'\nhosts = [2]\nchance = 0.5");
    rot.injector.drive_kv([](Host, const Fault&) { return std::uint64_t{7}; }, {});
    rot.run_until(10);
    BOOST_TEST(rot.effects() == 7U);
}

BOOST_AUTO_TEST_CASE(a_repeated_fault_hits_as_often_as_the_plan_says) {
    World world("kind = 'crash'\ncount = 1\nfor_s = 1\nevery_s = 3\ntimes = 3");
    world.run_until(20);
    BOOST_TEST(world.effects() == 3U);
    BOOST_TEST(world.injector.effects_by_kind().at("crash") == 3U);
}

BOOST_AUTO_TEST_CASE(after_a_freeze_nothing_begins_or_ends) {
    World world("kind = 'crash'\nhosts = [2]\nfor_s = 5\nevery_s = 20\ntimes = 2");
    world.run_until(6);
    world.injector.freeze();
    world.run_until(40);
    BOOST_TEST(!world.cluster.peer(2).is_up());
    BOOST_TEST(world.effects() == 1U);
}

BOOST_AUTO_TEST_SUITE_END()
