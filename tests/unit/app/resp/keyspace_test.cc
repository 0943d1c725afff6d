#include "app/resp/keyspace.h"

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <future>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <tuple>

#include "app/resp/value.h"
#include "kv/tenant.h"
#include "support/print.h"
#include "unit/app/kv/fakes.h"

using namespace exa;
using namespace exa::app;
using namespace exa::app::kv;
using namespace exa::app::resp;
using namespace exa::app::test;
using exa::resp::Verb;

namespace {

struct Fixture {
    explicit Fixture(FakeDisk* with_disk, RespKeyspaceConfig config = {}, KvPeers* with_peers = nullptr)
        : disk(with_disk), peers(with_peers) {
        restart(config);
    }

    // A new life over the same disk, when the old one has stored everything.
    void restart(RespKeyspaceConfig config = {}) {
        keyspace.reset();
        keyspace = std::make_unique<RespKeyspace>(config, RespDeps{.crypto = crypto,
                                                                   .root_secret = secret,
                                                                   .sealer = sealer,
                                                                   .disk = disk,
                                                                   .peers = peers,
                                                                   .wall = [this] { return WallTime{now_us}; }});
    }

    exa::resp::Outcome run(exa::resp::Operation operation) {
        std::promise<exa::resp::Outcome> answer;
        keyspace->run(std::move(operation), [&](exa::resp::Outcome outcome) { answer.set_value(std::move(outcome)); });
        return answer.get_future().get();
    }
    exa::resp::Operation operation(Verb verb, std::vector<std::string> keys, const std::string& tenant = "") {
        exa::resp::Operation some;
        some.verb = verb;
        some.tenant = tenant;
        some.keys = std::move(keys);
        return some;
    }
    bool set(const std::string& key, const std::string& value, const std::string& tenant = "") {
        auto some = operation(Verb::set, {key}, tenant);
        some.value = value;
        return run(std::move(some)).done;
    }
    // As a connection reads a large value: in the pieces that the keyspace wants.
    bool set_large(const std::string& key, const std::string& value) {
        exa::resp::Request so_far;
        so_far.arguments = {"SET", key, ""};
        for (std::size_t at = 0; at < value.size();) {
            auto body = keyspace->make_body("", so_far, value.size() - at);
            if (!body) return false;
            std::copy_n(value.begin() + static_cast<std::ptrdiff_t>(at), body->bytes.size(), body->bytes.begin());
            at += body->bytes.size();
            so_far.bodies.push_back(std::move(*body));
        }
        auto some = operation(Verb::set, {key});
        some.bodies = std::move(so_far.bodies);
        some.body_bytes = value.size();
        return run(std::move(some)).done;
    }
    std::string get(const std::string& key, const std::string& tenant = "") {
        const auto outcome = run(operation(Verb::get, {key}, tenant));
        if (!outcome.values.at(0)) return "(none)";
        std::string text;
        for (const exa::resp::Piece& piece : outcome.values[0]->pieces) text += as_text(piece.bytes);
        return text;
    }
    std::int64_t number(Verb verb, std::vector<std::string> keys) {
        return run(operation(verb, std::move(keys))).number;
    }

    FakeDisk* disk;
    KvPeers* peers;
    std::atomic<std::int64_t> now_us = 1'800'000'000'000'000;
    std::unique_ptr<RespKeyspace> keyspace;
};

// One other peer, whose values are those of a keyspace of its own.
class OtherPeer final : public FakeKvPeers {
  public:
    ~OtherPeer() override {
        // One may start another before it ends.
        for (std::vector<std::jthread> some = take_threads(); !some.empty(); some = take_threads()) some.clear();
    }

    bool has_others() const override { return is_in_reach; }
    void find(std::vector<exa::kv::KnownValue> values, Found done) override {
        ++searches;
        start([this, values = std::move(values), done = std::move(done)] {
            exa::kv::ValueSearch search(values, PeerId{1}, placement, [](PeerId) { return false; });
            while (const auto asks = search.next_ask()) {
                std::vector<exa::kv::Item> items;
                for (const std::uint32_t place : asks->places) {
                    const exa::kv::SegmentKey& key = search.key(place);
                    items.push_back(keyspace->find(key).value_or(disk.lookup({}, {&key, 1}).front()));
                }
                is_silent ? search.failed(*asks) : search.answered(*asks, items);
            }
            done(search.verdicts());
        });
    }
    void fetch(const exa::kv::Item& item, std::vector<PeerId>, Fetched done) override {
        ++fetches;
        start([this, key = item.key, done = std::move(done)] { done(bring(key)); });
    }
    void load(std::vector<exa::kv::SegmentKey> chain, std::vector<bool>, const exa::kv::FetchTerms&,
              Sink sink) override {
        start([this, chain = std::move(chain), sink = std::move(sink)] {
            std::size_t place = 0;
            for (; place < chain.size(); ++place) {
                ++fetches;
                auto part = bring(chain[place]);
                if (!part) break;
                sink({place, std::move(part)});
            }
            sink({place, nullptr});
        });
    }
    void handle_stored(const exa::kv::SegmentHead& head, exa::kv::SealedSegment segment) override {
        const std::lock_guard lock(mutex);
        told.emplace_back(head.key, head.stamp, sealer.verify(head.key, segment->view()).has_value());
    }

    void start(std::function<void()> work) {
        const std::lock_guard lock(mutex);
        threads.emplace_back(std::move(work));
    }
    std::vector<std::jthread> take_threads() {
        const std::lock_guard lock(mutex);
        return std::exchange(threads, {});
    }
    exa::kv::SealedSegment bring(const exa::kv::SegmentKey& key) {
        auto segment = keyspace->get(key);
        return segment ? segment : disk.get({}, key);
    }

    FakeDisk disk;
    RespKeyspace* keyspace = nullptr;
    // Peer 2 owns everything, and peer 1, who asks, nothing.
    const exa::kv::Placement placement{{{PeerId{2}, 2, 1, true}}, 2};
    bool is_in_reach = true;
    std::atomic<bool> is_silent = false;
    std::atomic<int> searches = 0;
    std::atomic<int> fetches = 0;
    std::mutex mutex;
    std::vector<std::tuple<exa::kv::SegmentKey, std::uint64_t, bool>> told;
    std::vector<std::jthread> threads;  // as if of a mesh
};

struct Pair {
    Pair() {
        peer.keyspace = other.keyspace.get();
        mine.peers = &peer;
        mine.restart({.writer_tag = 1});
    }
    ~Pair() { mine.keyspace.reset(); }

    OtherPeer peer;
    FakeDisk disk;
    Fixture other{&peer.disk};
    Fixture mine{&disk};
};

}  // namespace

BOOST_AUTO_TEST_SUITE(resp_keyspace)

BOOST_FIXTURE_TEST_CASE(what_an_owner_has_is_brought_and_is_asked_about_each_time, Pair) {
    other.set("a", "1");
    BOOST_TEST(mine.get("a") == "1");
    BOOST_TEST(mine.get("a") == "1");
    BOOST_TEST(mine.keyspace->stats().hits_peers == 1u);
    BOOST_TEST(mine.keyspace->stats().hits_memory == 1u);
    BOOST_TEST(peer.searches == 2);
    other.set("a", "2");
    BOOST_TEST(mine.get("a") == "2");
    BOOST_TEST(mine.number(Verb::exists, {"a", "b"}) == 1);
    other.number(Verb::remove, {"a"});
    BOOST_TEST(mine.get("a") == "(none)");
    BOOST_TEST(mine.keyspace->stats().memory_values == 0u);
}

BOOST_FIXTURE_TEST_CASE(a_value_in_parts_is_brought_whole_or_not_at_all, Pair) {
    std::string value(20'000'000, 'x');
    for (std::size_t i = 0; i < value.size(); i += 7) value[i] = static_cast<char>(i / 7);
    BOOST_TEST(other.set_large("a", value));
    BOOST_TEST(mine.get("a") == value);
    other.restart();
    peer.keyspace = other.keyspace.get();
    const auto part = std::ranges::min(peer.disk.list(std::nullopt, 10), {}, &io::store::StoredInfo::bytes).key;
    peer.disk.erase(std::span(&part, 1));
    mine.restart({.writer_tag = 1});
    BOOST_TEST(mine.get("a") == "(none)");
}

BOOST_FIXTURE_TEST_CASE(a_length_is_told_without_the_value, Pair) {
    other.set("a", "hello");
    other.set("empty", "");
    BOOST_TEST(mine.number(Verb::length, {"a"}) == 5);
    BOOST_TEST(mine.number(Verb::length, {"empty"}) == 0);
    BOOST_TEST(mine.number(Verb::length, {"none"}) == 0);
    BOOST_TEST(peer.fetches == 0);
    // Of several parts the first says it, and the size of a part alone does not tell whether there are others.
    for (const std::size_t bytes : {std::size_t{20'000'000}, std::size_t{resp_part_bytes_max}}) {
        BOOST_TEST(other.set_large("b", std::string(bytes, 'x')));
        peer.fetches = 0;
        BOOST_TEST(mine.number(Verb::length, {"b"}) == static_cast<std::int64_t>(bytes));
        BOOST_TEST(peer.fetches == 1);
    }
    BOOST_TEST(mine.keyspace->stats().memory_values == 0u);
    other.number(Verb::remove, {"a"});
    BOOST_TEST(mine.number(Verb::length, {"a"}) == 0);
}

BOOST_FIXTURE_TEST_CASE(a_value_larger_than_memory_is_not_brought, Pair) {
    BOOST_TEST(other.set_large("a", std::string(20'000'000, 'x')));
    RespKeyspaceConfig config;
    config.memory_bytes = config.queue_bytes_max = 1 << 20;
    mine.restart(config);
    BOOST_TEST(other.set_large("b", std::string(90'000'000, 'x')));
    BOOST_TEST(mine.get("b") == "(none)");
    BOOST_TEST(mine.keyspace->stats().refused == 1u);
    BOOST_TEST(mine.get("a").size() == 20'000'000u);
}

BOOST_FIXTURE_TEST_CASE(what_is_set_goes_to_the_owners_part_by_part_and_counts_until_they_have_it, Pair) {
    BOOST_TEST(mine.set_large("a", std::string(20'000'000, 'x')));
    BOOST_TEST(mine.get("a").size() == 20'000'000u);
    disk.wait_for_puts(3);
    mine.restart();
    BOOST_TEST_REQUIRE(peer.told.size() == 3u);
    for (const auto& [key, stamp, is_sealed] : peer.told) BOOST_TEST(is_sealed);
    // On the disk, so its owners may not have it yet.
    BOOST_TEST(mine.get("a").size() == 20'000'000u);
    // The owner has had it, and has lost it: so may have what came after it.
    for (const auto& [key, stamp, is_sealed] : peer.told) {
        mine.keyspace->handle_acked({key, stamp, 1});
        BOOST_TEST(disk.erase_version(key, stamp));
    }
    BOOST_TEST(mine.get("a") == "(none)");
}

BOOST_FIXTURE_TEST_CASE(a_write_is_later_than_what_owners_have_once_they_were_asked, Pair) {
    mine.now_us -= 30'000'000;
    other.set("a", "theirs");
    BOOST_TEST(mine.get("a") == "theirs");
    mine.set("a", "mine");
    BOOST_TEST(mine.get("a") == "mine");
}

BOOST_FIXTURE_TEST_CASE(removing_what_only_an_owner_has_leaves_a_tombstone_for_it, Pair) {
    other.set("a", "1");
    BOOST_TEST(mine.number(Verb::remove, {"a", "b", "a"}) == 1);
    BOOST_TEST(mine.get("a") == "(none)");
    mine.restart();
    BOOST_TEST_REQUIRE(peer.told.size() == 1u);
    const auto removal = disk.find(std::get<0>(peer.told[0]));
    BOOST_REQUIRE(removal.has_value());
    BOOST_TEST(removal->kind == exa::kv::SegmentKind::tombstone);
}

BOOST_FIXTURE_TEST_CASE(an_owner_that_says_nothing_is_a_miss_and_a_removal_leaves_a_tombstone_for_it, Pair) {
    other.set("a", "1");
    peer.is_silent = true;
    BOOST_TEST(mine.get("a") == "(none)");
    BOOST_TEST(mine.number(Verb::exists, {"a"}) == 0);
    BOOST_TEST(mine.keyspace->stats().unsure == 2u);
    BOOST_TEST(mine.number(Verb::remove, {"a"}) == 0);
    peer.is_silent = false;
    BOOST_TEST(mine.get("a") == "(none)");
}

BOOST_FIXTURE_TEST_CASE(conditions_see_what_owners_have, Pair) {
    other.set("a", "1");
    auto some = mine.operation(Verb::set, {"a"});
    some.value = "2";
    some.only_if_absent = true;
    BOOST_TEST(!mine.run(std::move(some)).done);
    auto with_old = mine.operation(Verb::set, {"a"});
    with_old.value = "3";
    with_old.only_if_present = with_old.wants_old = true;
    BOOST_TEST(as_text(mine.run(std::move(with_old)).values.at(0)->pieces.at(0).bytes) == "1");
    BOOST_TEST(mine.get("a") == "3");
}

BOOST_FIXTURE_TEST_CASE(nobody_is_asked_when_there_is_nobody_else, Pair) {
    peer.is_in_reach = false;
    mine.set("a", "1");
    BOOST_TEST(mine.get("a") == "1");
    BOOST_TEST(mine.number(Verb::remove, {"b"}) == 0);
    BOOST_TEST(peer.searches == 0);
}

BOOST_AUTO_TEST_CASE(what_waits_for_the_disk_is_given_to_others_sealed_and_is_listed) {
    FakeDisk disk;
    Fixture fixture(&disk);
    disk.hold_writes(true);
    fixture.set("a", "1");
    fixture.set("b", "2");
    fixture.number(Verb::remove, {"b"});
    const Digest salt = exa::kv::tenant_salt(crypto, secret, "");
    const exa::kv::SegmentKey a = resp_key(crypto, salt, "a"), b = resp_key(crypto, salt, "b");
    BOOST_TEST(fixture.keyspace->find(a)->bytes > exa::kv::segment_header_size);
    BOOST_TEST(fixture.keyspace->find(b)->bytes == 0u);
    BOOST_TEST(!fixture.keyspace->find(key_of(1)).has_value());
    BOOST_TEST(sealer.verify(a, fixture.keyspace->get(a)->view()).value().stamp == fixture.keyspace->find(a)->stamp);
    BOOST_TEST(sealer.verify(b, fixture.keyspace->get(b)->view()).value().kind == exa::kv::SegmentKind::tombstone);
    BOOST_TEST(fixture.keyspace->get(key_of(1)) == nullptr);
    BOOST_TEST(fixture.run(fixture.operation(Verb::scan, {})).keys == std::vector<std::string>{"a"});
    auto none = fixture.operation(Verb::scan, {});
    none.none = true;
    BOOST_TEST(fixture.run(none).keys.empty());
    BOOST_TEST(fixture.keyspace->stats().queued_values == 2u);
    disk.hold_writes(false);
}

BOOST_AUTO_TEST_CASE(what_was_set_is_got_from_memory_and_from_the_disk_of_another_life) {
    FakeDisk disk;
    Fixture fixture(&disk);
    BOOST_TEST(fixture.get("a") == "(none)");
    BOOST_TEST(fixture.set("a", "1"));
    BOOST_TEST(fixture.set("b", ""));
    BOOST_TEST(fixture.get("a") == "1");
    fixture.restart();
    BOOST_TEST(fixture.get("a") == "1");
    BOOST_TEST(fixture.get("b") == "");
    BOOST_TEST(fixture.keyspace->stats().hits_disk == 2u);
    BOOST_TEST(fixture.get("a") == "1");
    BOOST_TEST(fixture.keyspace->stats().hits_memory == 1u);
}

BOOST_AUTO_TEST_CASE(the_last_set_stands_also_when_the_clock_has_gone_back) {
    FakeDisk disk;
    Fixture fixture(&disk);
    fixture.set("a", "1");
    fixture.set("a", "2");
    fixture.restart();
    BOOST_TEST(fixture.get("a") == "2");
    fixture.restart();
    fixture.now_us -= 86'400'000'000;
    fixture.set("a", "3");
    fixture.restart();
    BOOST_TEST(fixture.get("a") == "3");
}

BOOST_AUTO_TEST_CASE(a_removed_value_stays_away) {
    FakeDisk disk;
    Fixture fixture(&disk);
    fixture.set("a", "1");
    fixture.set("b", "2");
    fixture.restart();
    BOOST_TEST(fixture.number(Verb::exists, {"a", "b", "c"}) == 2);
    BOOST_TEST(fixture.number(Verb::remove, {"a", "c"}) == 1);
    BOOST_TEST(fixture.number(Verb::remove, {"a"}) == 0);
    BOOST_TEST(fixture.get("a") == "(none)");
    fixture.restart();
    BOOST_TEST(fixture.get("a") == "(none)");
    BOOST_TEST(fixture.number(Verb::exists, {"a", "b"}) == 1);
    BOOST_TEST(fixture.set("a", "3"));
    fixture.restart();
    BOOST_TEST(fixture.get("a") == "3");
}

BOOST_AUTO_TEST_CASE(large_values_come_in_parts_and_come_back_whole_or_not_at_all) {
    FakeDisk disk;
    Fixture fixture(&disk);
    std::string value(20'000'000, 'x');
    for (std::size_t i = 0; i < value.size(); i += 7) value[i] = static_cast<char>(i / 7);
    BOOST_TEST(fixture.set_large("a", value));
    BOOST_TEST(fixture.get("a") == value);
    fixture.restart();
    BOOST_TEST(fixture.get("a") == value);
    BOOST_TEST(fixture.number(Verb::length, {"a"}) == 20'000'000);
    fixture.restart();
    // One part goes, as an eviction takes it.
    const auto infos = disk.list(std::nullopt, 10);
    BOOST_TEST_REQUIRE(infos.size() == 3u);
    const auto part = std::ranges::min(infos, {}, &io::store::StoredInfo::bytes).key;
    disk.erase(std::span(&part, 1));
    BOOST_TEST(fixture.get("a") == "(none)");
}

BOOST_AUTO_TEST_CASE(memory_is_bounded_and_a_value_larger_than_it_is_refused) {
    RespKeyspaceConfig config;
    config.memory_bytes = 1 << 20;
    config.queue_bytes_max = 1 << 20;
    FakeDisk disk;
    Fixture fixture(&disk, config);
    for (int i = 0; i < 50; ++i) BOOST_TEST(fixture.set_large("key " + std::to_string(i), std::string(100'000, 'x')));
    BOOST_TEST(fixture.get("key 0").size() == 100'000u);
    BOOST_TEST(fixture.keyspace->stats().memory_bytes <= 3u << 20);
    BOOST_TEST(!fixture.set_large("huge", std::string(100'000'000, 'x')));
    BOOST_TEST(fixture.set_large("small", std::string(100'000, 'x')));
}

BOOST_AUTO_TEST_CASE(a_set_waits_when_too_much_waits_for_the_disk) {
    RespKeyspaceConfig config;
    config.queue_bytes_max = 150'000;
    FakeDisk disk;
    Fixture fixture(&disk, config);
    disk.hold_writes(true);
    std::atomic<int> answered = 0;
    for (int i = 0; i < 4; ++i) {
        auto some = fixture.operation(Verb::set, {std::to_string(i)});
        some.value = std::string(100'000, 'x');
        fixture.keyspace->run(std::move(some), [&](exa::resp::Outcome) { ++answered; });
    }
    BOOST_TEST(answered == 1);
    BOOST_TEST(fixture.get("3").size() == 100'000u);
    disk.hold_writes(false);
    fixture.restart();
    BOOST_TEST(answered == 4);
    BOOST_TEST(fixture.get("3").size() == 100'000u);
}

BOOST_AUTO_TEST_CASE(conditions_see_memory_and_disk) {
    FakeDisk disk;
    Fixture fixture(&disk);
    const auto set_if = [&](const std::string& key, const std::string& value, bool absent) {
        auto some = fixture.operation(Verb::set, {key});
        some.value = value;
        (absent ? some.only_if_absent : some.only_if_present) = true;
        return fixture.run(std::move(some)).done;
    };
    BOOST_TEST(!set_if("a", "1", false));
    BOOST_TEST(set_if("a", "2", true));
    BOOST_TEST(!set_if("a", "3", true));
    fixture.restart();
    BOOST_TEST(!set_if("a", "4", true));
    BOOST_TEST(set_if("a", "5", false));
    auto with_old = fixture.operation(Verb::set, {"a"});
    with_old.value = "6";
    with_old.wants_old = true;
    const auto outcome = fixture.run(std::move(with_old));
    BOOST_TEST(as_text(outcome.values.at(0)->pieces.at(0).bytes) == "5");
    BOOST_TEST(fixture.get("a") == "6");
}

BOOST_AUTO_TEST_CASE(a_value_expires_to_the_millisecond_in_memory_and_across_lives) {
    FakeDisk disk;
    Fixture fixture(&disk);
    auto some = fixture.operation(Verb::set, {"a"});
    some.value = "1";
    some.expires_ms = fixture.now_us / 1000 + 1500;
    fixture.run(std::move(some));
    fixture.now_us += 1'499'000;
    BOOST_TEST(fixture.get("a") == "1");
    fixture.restart();
    BOOST_TEST(fixture.get("a") == "1");
    fixture.now_us += 1'000;
    BOOST_TEST(fixture.get("a") == "(none)");
    BOOST_TEST(fixture.number(Verb::exists, {"a"}) == 0);
    fixture.restart();
    BOOST_TEST(fixture.get("a") == "(none)");
}

BOOST_AUTO_TEST_CASE(tenants_do_not_see_one_another) {
    FakeDisk disk;
    Fixture fixture(&disk);
    fixture.set("a", "acme's", "acme");
    fixture.set("a", "mine");
    BOOST_TEST(fixture.get("a", "acme") == "acme's");
    BOOST_TEST(fixture.get("a") == "mine");
    BOOST_TEST(fixture.get("a", "other") == "(none)");
    fixture.restart();
    BOOST_TEST(fixture.get("a", "other") == "(none)");
    const auto scan = [&](const std::string& tenant) {
        return fixture.run(fixture.operation(Verb::scan, {}, tenant)).keys;
    };
    BOOST_TEST(scan("acme") == std::vector<std::string>{"a"});
    BOOST_TEST(scan("other").empty());
}

BOOST_AUTO_TEST_CASE(scanning_finds_every_stored_key_once) {
    FakeDisk disk;
    Fixture fixture(&disk);
    for (int i = 0; i < 25; ++i) fixture.set("key " + std::to_string(i), "v");
    fixture.set("other", "v");
    fixture.set_large("key large", std::string(17'000'000, 'x'));
    fixture.number(Verb::remove, {"key 3"});
    fixture.restart();
    std::multiset<std::string> found;
    exa::resp::Outcome outcome;
    do {
        auto some = fixture.operation(Verb::scan, {});
        some.cursor = outcome.cursor;
        some.count = 4;
        some.pattern = "key *";
        outcome = fixture.run(std::move(some));
        found.insert(outcome.keys.begin(), outcome.keys.end());
    } while (outcome.cursor != 0);
    BOOST_TEST(found.size() == 25u);
    BOOST_TEST(std::set(found.begin(), found.end()).size() == 25u);
    BOOST_TEST(!found.contains("key 3"));
    BOOST_TEST(found.contains("key large"));
}

BOOST_AUTO_TEST_CASE(without_a_disk_memory_is_all_there_is) {
    Fixture fixture(nullptr);
    fixture.set("a", "1");
    BOOST_TEST(fixture.get("a") == "1");
    BOOST_TEST(fixture.number(Verb::exists, {"a"}) == 1);
    BOOST_TEST(fixture.number(Verb::remove, {"a"}) == 1);
    BOOST_TEST(fixture.get("a") == "(none)");
    BOOST_TEST(fixture.run(fixture.operation(Verb::scan, {})).keys.empty());
}

BOOST_AUTO_TEST_CASE(a_disk_that_refuses_costs_misses_and_never_an_older_value) {
    FakeDisk disk;
    Fixture fixture(&disk);
    fixture.set("a", "old");
    fixture.restart();
    disk.full = true;
    BOOST_TEST(fixture.set("a", "new"));
    BOOST_TEST(fixture.get("a") == "new");
    fixture.restart();
    BOOST_TEST(fixture.get("a") == "(none)");
}

BOOST_AUTO_TEST_SUITE_END()
