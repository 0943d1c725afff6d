#include "app/resp_keyspace.h"

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <future>
#include <memory>
#include <set>
#include <string>

#include "kv_fakes.h"

using namespace exa;
using namespace exa::app;
using namespace exa::app::test;
using resp::Verb;

namespace {

struct Fixture {
    explicit Fixture(FakeDisk* with_disk, RespKeyspaceConfig config = {}) : disk(with_disk) { restart(config); }

    // A new life over the same disk, when the old one has stored everything.
    void restart(RespKeyspaceConfig config = {}) {
        keyspace.reset();
        keyspace =
            std::make_unique<RespKeyspace>(config, crypto, secret, sealer, disk, [this] { return WallTime{now_us}; });
    }

    resp::Outcome run(resp::Operation operation) {
        std::promise<resp::Outcome> answer;
        keyspace->run(std::move(operation), [&](resp::Outcome outcome) { answer.set_value(std::move(outcome)); });
        return answer.get_future().get();
    }
    resp::Operation operation(Verb verb, std::vector<std::string> keys, const std::string& tenant = "") {
        resp::Operation some;
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
        resp::Request so_far;
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
        for (const resp::Piece& piece : outcome.values[0]->pieces) text += as_text(piece.bytes);
        return text;
    }
    std::int64_t number(Verb verb, std::vector<std::string> keys) {
        return run(operation(verb, std::move(keys))).number;
    }

    FakeDisk* disk;
    std::atomic<std::int64_t> now_us = 1'800'000'000'000'000;
    std::unique_ptr<RespKeyspace> keyspace;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(resp_keyspace)

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
    BOOST_TEST((fixture.get("a") == value));
    fixture.restart();
    BOOST_TEST((fixture.get("a") == value));
    BOOST_TEST(fixture.number(Verb::length, {"a"}) == 20'000'000);
    fixture.restart();
    // One part goes, as an eviction takes it.
    const auto infos = disk.list(std::nullopt, 10);
    BOOST_REQUIRE(infos.size() == 3u);
    const auto part = std::ranges::min(infos, {}, &io::StoredInfo::bytes).key;
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
        fixture.keyspace->run(std::move(some), [&](resp::Outcome) { ++answered; });
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
    resp::Outcome outcome;
    do {
        auto some = fixture.operation(Verb::scan, {});
        some.cursor = outcome.cursor;
        some.count = 4;
        some.pattern = "key *";
        outcome = fixture.run(std::move(some));
        found.insert(outcome.keys.begin(), outcome.keys.end());
    } while (outcome.cursor != 0);
    BOOST_TEST(found.size() == 25u);
    BOOST_TEST((std::set(found.begin(), found.end()).size() == 25u));
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
