#include "sim/kv/replicators.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <map>
#include <set>
#include <utility>

#include "io/crypto/openssl_crypto.h"

using namespace exa;
using namespace exa::sim;

namespace {

struct Disk final : kv::Holdings {
    std::optional<kv::Item> find(const kv::SegmentKey& key) const override {
        const auto at = items.find(key);
        return at != items.end() ? std::optional(at->second) : std::nullopt;
    }
    std::vector<kv::Item> list(const std::optional<kv::SegmentKey>& after, std::size_t limit) const override {
        std::vector<kv::Item> page;
        for (auto at = after ? items.upper_bound(*after) : items.begin(); at != items.end() && page.size() < limit;
             ++at)
            page.push_back(at->second);
        return page;
    }
    std::map<kv::SegmentKey, kv::Item> items;
};

struct User final : ReplicatorUser {
    const kv::Holdings& on_start(Host host) override {
        ++starts[host];
        return disks[host];
    }
    void on_crash(Host host) override { ++crashes[host]; }
    kv::Item lookup(Host host, const kv::SegmentKey& key) override {
        return disks[host].find(key).value_or(kv::Item{key});
    }
    kv::SealedSegment read(Host host, const kv::SegmentKey& key) override {
        ++read_count;
        if (!disks[host].find(key)) return nullptr;
        auto buffer = std::make_shared<kv::SegmentBuffer>(4096);
        kv::SegmentHead head;
        head.key = key;
        sealer.seal(head, *buffer);
        if (are_bad) buffer->bytes().back() ^= 1;
        return buffer;
    }
    void on_trouble(Host) override { ++troubles; }
    void on_written(Host host, const kv::Item& item) override { disks[host].items[item.key] = item; }
    void deliver(Host, const kv::Exchange::Deliver&) override { ++delivered; }
    void end_fetch(Host, const kv::Exchange::FetchOver& over) override { over_at = over.prefix; }
    void store(Host host, const kv::Exchange::Store& store) override {
        replicators->write_later(host, store.item, WriteOrigin::offered);
    }
    void on_acked(const kv::Exchange::Acked& one) override { acked.insert(one.by); }

    io::crypto::OpenSslCrypto crypto;
    kv::SegmentSealer sealer{crypto, as_bytes("secret")};
    Replicators* replicators = nullptr;
    std::map<Host, Disk> disks;
    std::map<Host, int> starts;
    std::map<Host, int> crashes;
    bool are_bad = false;
    int read_count = 0;
    int delivered = 0;
    int troubles = 0;
    std::optional<std::uint32_t> over_at;
    std::set<PeerId> acked;
};

// Four hosts that know one another.
struct World {
    explicit World(const node::KvReplicatorConfig& config = {})
        : replicators(cluster, user, user.sealer, {EventKind::kv, LinkPool::bulk, 100'000}, config) {
        user.replicators = &replicators;
        cluster.handle_with(EventKind::kv, [this](const Event& event) { replicators.handle(event); });
        for (Host host = 0; host < cluster.size(); ++host) cluster.boot(host, WorldTime{});
        replicators.start();
        run(std::chrono::seconds{15});
    }

    static ClusterConfig cluster_config() {
        ClusterConfig config;
        config.peers = 4;
        config.replicas = 1;
        config.kv = true;
        return config;
    }
    void run(Duration wait) { cluster.run_until(cluster.now() + wait); }
    std::vector<Host> owners() {
        std::vector<Host> hosts;
        for (const PeerId owner : replicators.find(0)->placement().owners(item.key))
            hosts.push_back(replicators.host_of(owner).value());
        return hosts;
    }
    Host outsider() {
        const auto owners = this->owners();
        Host host = 0;
        while (std::ranges::find(owners, host) != owners.end()) ++host;
        return host;
    }
    void load(Host host) { load(host, {item.key}, std::chrono::seconds{2}); }
    void load(Host host, const std::vector<kv::SegmentKey>& chain, Duration wait) {
        replicators.find(host)->fetch_chain(replicators.now(host), chain, std::vector<bool>(chain.size(), false));
        replicators.pump(host);
        run(wait);
    }
    // Ten seconds for a segment, from now on.
    void narrow_lines() {
        Rule rule;
        rule.kind = RuleKind::bandwidth;
        rule.from.assign(cluster.size(), 1);
        rule.to.assign(cluster.size(), 1);
        rule.rate = 10'000;
        cluster.network().add(std::move(rule), &effects);
    }

    User user;
    Cluster cluster{cluster_config(), 1, user.crypto};
    Replicators replicators;
    kv::Item item{{}, 0, 4096};
    std::uint64_t effects = 0;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(replicators_)

BOOST_AUTO_TEST_CASE(the_owners_of_a_write_store_and_acknowledge_it) {
    World world;
    const Host writer = world.outsider();
    world.replicators.write_later(writer, world.item, WriteOrigin::made);
    world.run(std::chrono::seconds{10});
    const auto owners = world.owners();
    BOOST_TEST(owners.size() >= 2U);
    for (const Host owner : owners) {
        BOOST_TEST(world.user.disks[owner].items.contains(world.item.key));
        BOOST_TEST(world.user.acked.contains(world.cluster.peer(owner).id));
    }
}

BOOST_AUTO_TEST_CASE(a_fetched_segment_is_offered_to_nobody) {
    World world;
    world.replicators.write_later(world.outsider(), world.item, WriteOrigin::fetched);
    world.run(std::chrono::seconds{10});
    BOOST_TEST(world.user.disks[world.outsider()].items.contains(world.item.key));
    for (const Host owner : world.owners()) BOOST_TEST(!world.user.disks[owner].items.contains(world.item.key));
    BOOST_TEST(world.user.acked.empty());
}

BOOST_AUTO_TEST_CASE(what_an_owner_has_is_delivered_unless_it_is_corrupt) {
    World world;
    for (const Host owner : world.owners()) world.user.disks[owner].items[world.item.key] = world.item;
    world.load(world.outsider());
    BOOST_TEST(world.user.delivered == 1);
    BOOST_TEST(world.user.over_at.value() == 1U);

    world.user.are_bad = true;
    world.load(world.outsider());
    BOOST_TEST(world.replicators.corrupt() >= 1U);
    BOOST_TEST(world.user.delivered == 1);
    BOOST_TEST(world.user.over_at.value() == 0U);
}

BOOST_AUTO_TEST_CASE(a_crash_takes_the_replicator_and_the_writes_of_a_process) {
    World world;
    const Host host = world.outsider();
    const std::uint32_t boot = world.replicators.boot(host);
    DiskFaults& faults = world.cluster.peer(host).disk.faults();
    const Duration sync_time = std::exchange(faults.sync_time, std::chrono::seconds{20});
    world.replicators.write_later(host, world.item, WriteOrigin::made);
    faults.sync_time = sync_time;
    world.cluster.crash(host);
    BOOST_TEST(world.replicators.find(host) == nullptr);
    BOOST_TEST(world.replicators.find(host) == nullptr);
    BOOST_TEST(world.user.crashes[host] == 1);
    BOOST_TEST(world.replicators.boot(host) == 0U);

    world.cluster.boot(host, world.cluster.now());
    world.run(std::chrono::seconds{15});
    BOOST_TEST(world.replicators.find(host) != nullptr);
    BOOST_TEST(world.replicators.boot(host) != boot);
    BOOST_TEST(world.user.starts[host] == 2);
    world.run(std::chrono::seconds{10});
    BOOST_TEST(world.user.disks[host].items.empty());
}

BOOST_AUTO_TEST_CASE(a_question_to_a_peer_that_is_gone_is_trouble) {
    World world;
    const Host asker = world.outsider();
    for (const Host owner : world.owners()) world.cluster.crash(owner);
    world.load(asker);
    BOOST_TEST(world.user.troubles > 0);
    BOOST_TEST(world.user.over_at.value() == 0U);
}

BOOST_AUTO_TEST_CASE(a_segment_that_takes_longer_than_the_timeout_arrives) {
    World world;
    world.narrow_lines();
    world.replicators.write_later(world.outsider(), world.item, WriteOrigin::made);
    world.run(std::chrono::seconds{60});
    for (const Host owner : world.owners()) BOOST_TEST(world.user.disks[owner].items.contains(world.item.key));
}

BOOST_AUTO_TEST_CASE(a_dropped_fetch_is_not_sent) {
    node::KvReplicatorConfig config;
    config.exchange.lookup_timeout = std::chrono::seconds{10};
    World world(config);
    const Host asker = 0;
    std::vector<kv::SegmentKey> chain(40);
    for (std::size_t i = 0; i < chain.size(); ++i) {
        chain[i].bytes[0] = static_cast<std::uint8_t>(i);
        for (Host host = 1; host < world.cluster.size(); ++host)
            world.user.disks[host].items[chain[i]] = {chain[i], 0, 4096};
    }
    world.narrow_lines();
    world.load(asker, chain, std::chrono::seconds{60});
    BOOST_TEST(world.user.over_at.value() == 0U);
    const int sent = world.user.read_count;
    BOOST_TEST(sent > 0);
    world.run(std::chrono::seconds{600});
    BOOST_TEST(world.user.read_count == sent);
}

BOOST_AUTO_TEST_SUITE_END()
