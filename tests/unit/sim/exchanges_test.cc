#include "sim/kv/exchanges.h"

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

struct User final : ExchangeUser {
    const kv::Holdings& on_start(Host host) override {
        ++starts[host];
        return disks[host];
    }
    void on_crash(Host host) override { ++crashes[host]; }
    kv::Item look(Host host, const kv::SegmentKey& key) override {
        return disks[host].find(key).value_or(kv::Item{key});
    }
    kv::SealedSegment fetch(Host host, const kv::Item& item) override {
        ++fetched;
        const auto there = disks[host].find(item.key);
        return there ? std::make_shared<kv::SegmentBuffer>(there->bytes) : nullptr;
    }
    bool verify(const kv::SegmentKey&, const kv::SegmentBuffer&) override {
        ++verified;
        return !are_bad;
    }
    bool is_forgotten(Host, const kv::Question&) override { return forgets; }
    void on_trouble(Host) override { ++troubles; }
    void on_written(Host host, const kv::Item& item, bool own) override {
        disks[host].items[item.key] = item;
        if (own)
            exchanges->last(host)->add(exchanges->now(host), item);
        else
            exchanges->last(host)->handle_stored(exchanges->now(host), item, kv::OfferOutcome::held);
    }
    void give(Host, const kv::Exchange::Give&) override { ++given; }
    void end_load(Host, const kv::Exchange::LoadOver& over) override { over_at = over.given; }
    void store(Host host, const kv::Exchange::Store& store) override {
        exchanges->write_later(host, store.item, false);
    }
    void on_kept(const kv::Exchange::Kept& one) override { kept.insert(one.by); }

    Exchanges* exchanges = nullptr;
    std::map<Host, Disk> disks;
    std::map<Host, int> starts;
    std::map<Host, int> crashes;
    bool are_bad = false;
    bool forgets = false;
    int fetched = 0;
    int verified = 0;
    int given = 0;
    int troubles = 0;
    std::optional<std::uint32_t> over_at;
    std::set<PeerId> kept;
};

// Four hosts that know one another.
struct World {
    explicit World(const kv::ExchangeConfig& patience = {})
        : exchanges(cluster, user, {EventKind::kv, LinkPool::bulk, 44, 100'000}, patience) {
        user.exchanges = &exchanges;
        cluster.handle_with(EventKind::kv, [this](const Event& event) { exchanges.handle(event); });
        for (Host host = 0; host < cluster.size(); ++host) cluster.boot(host, WorldTime{});
        exchanges.start();
        run(std::chrono::seconds{15});
    }

    static ClusterConfig config() {
        ClusterConfig config;
        config.peers = 4;
        config.replicas = 1;
        config.kv = true;
        return config;
    }
    void run(Duration wait) { cluster.run_until(cluster.now() + wait); }
    std::vector<Host> owners() {
        std::vector<Host> hosts;
        for (const PeerId owner : exchanges.find(0)->placement().owners(item.key))
            hosts.push_back(exchanges.host_of(owner).value());
        return hosts;
    }
    Host stranger() {
        const auto owners = this->owners();
        Host host = 0;
        while (std::ranges::find(owners, host) != owners.end()) ++host;
        return host;
    }
    void load(Host host) { load(host, {item.key}, std::chrono::seconds{2}); }
    void load(Host host, const std::vector<kv::SegmentKey>& chain, Duration wait) {
        exchanges.find(host)->load(exchanges.now(host), kv::LoadId{exchanges.number()}, chain,
                                   std::vector<bool>(chain.size(), false));
        exchanges.pump(host);
        run(wait);
    }
    // Ten seconds for a segment, from now on.
    void narrow_lines() {
        Rule rule;
        rule.kind = RuleKind::bandwidth;
        rule.from.assign(cluster.size(), 1);
        rule.to.assign(cluster.size(), 1);
        rule.rate = 10'000;
        cluster.fabric().add(std::move(rule), &effects);
    }

    io::OpenSslCrypto crypto;
    Cluster cluster{config(), 1, crypto};
    User user;
    Exchanges exchanges;
    kv::Item item{{}, 0, 4096};
    std::uint64_t effects = 0;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(exchanges_)

BOOST_AUTO_TEST_CASE(what_one_host_writes_its_owners_get_and_say_so) {
    World world;
    const Host writer = world.stranger();
    world.exchanges.write_later(writer, world.item, true);
    world.run(std::chrono::seconds{10});
    const auto owners = world.owners();
    BOOST_TEST(owners.size() >= 2U);
    for (const Host owner : owners) {
        BOOST_TEST(world.user.disks[owner].items.contains(world.item.key));
        BOOST_TEST(world.user.kept.contains(world.cluster.peer(owner).id));
    }
}

BOOST_AUTO_TEST_CASE(a_forgotten_offer_is_kept_by_nobody_and_taken_for_kept) {
    World world;
    world.user.forgets = true;
    world.exchanges.write_later(world.stranger(), world.item, true);
    world.run(std::chrono::seconds{10});
    for (const Host owner : world.owners()) BOOST_TEST(!world.user.disks[owner].items.contains(world.item.key));
    BOOST_TEST(world.user.kept.size() == world.owners().size());
}

BOOST_AUTO_TEST_CASE(what_an_owner_has_is_given_and_what_does_not_verify_is_not) {
    World world;
    for (const Host owner : world.owners()) world.user.disks[owner].items[world.item.key] = world.item;
    world.load(world.stranger());
    BOOST_TEST(world.user.given == 1);
    BOOST_TEST(world.user.over_at.value() == 1U);

    world.user.are_bad = true;
    world.load(world.stranger());
    BOOST_TEST(world.user.verified >= 2);
    BOOST_TEST(world.user.given == 1);
    BOOST_TEST(world.user.over_at.value() == 0U);
}

BOOST_AUTO_TEST_CASE(a_process_that_is_gone_takes_its_exchange_and_its_writes_once) {
    World world;
    const Host host = world.stranger();
    const std::uint32_t boot = world.exchanges.boot(host);
    DiskFaults& faults = world.cluster.peer(host).disk.faults();
    const Duration sync_time = std::exchange(faults.sync_time, std::chrono::seconds{20});
    world.exchanges.write_later(host, world.item, true);
    faults.sync_time = sync_time;
    world.cluster.crash(host);
    BOOST_TEST(world.exchanges.find(host) == nullptr);
    BOOST_TEST(world.exchanges.find(host) == nullptr);
    BOOST_TEST(world.user.crashes[host] == 1);
    BOOST_TEST(world.exchanges.boot(host) == 0U);

    world.cluster.boot(host, world.cluster.now());
    world.run(std::chrono::seconds{15});
    BOOST_TEST(world.exchanges.find(host) != nullptr);
    BOOST_TEST(world.exchanges.boot(host) != boot);
    BOOST_TEST(world.user.starts[host] == 2);
    world.run(std::chrono::seconds{10});
    BOOST_TEST(world.user.disks[host].items.empty());
}

BOOST_AUTO_TEST_CASE(a_question_to_a_peer_that_is_gone_is_trouble) {
    World world;
    const Host asker = world.stranger();
    for (const Host owner : world.owners()) world.cluster.crash(owner);
    world.load(asker);
    BOOST_TEST(world.user.troubles > 0);
    BOOST_TEST(world.user.over_at.value() == 0U);
}

BOOST_AUTO_TEST_CASE(a_segment_that_takes_longer_than_patience_comes_all_the_same) {
    World world;
    world.narrow_lines();
    world.exchanges.write_later(world.stranger(), world.item, true);
    world.run(std::chrono::seconds{60});
    for (const Host owner : world.owners()) BOOST_TEST(world.user.disks[owner].items.contains(world.item.key));
}

BOOST_AUTO_TEST_CASE(what_is_given_up_does_not_go_on_the_line) {
    kv::ExchangeConfig patience;
    patience.look_patience = std::chrono::seconds{10};
    World world(patience);
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
    const int sent = world.user.fetched;
    BOOST_TEST(sent > 0);
    world.run(std::chrono::seconds{600});
    BOOST_TEST(world.user.fetched == sent);
}

BOOST_AUTO_TEST_SUITE_END()
