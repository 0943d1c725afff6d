#include "app/resp/updater.h"

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "app/resp/keyspace.h"
#include "support/print.h"
#include "unit/app/resp/parts.h"

using namespace exa;
using namespace exa::app::resp;
using namespace exa::app::test;
using exa::resp::Verb;

namespace {

constexpr std::int64_t start_ms = 1'800'000'000'000;

// A peer by itself, with a disk or without.
struct Fixture {
    explicit Fixture(bool with_disk = true)
        : keyspace({}, RespDeps{.crypto = crypto,
                                .root_secret = secret,
                                .sealer = sealer,
                                .disk = with_disk ? &disk : nullptr,
                                .wall = [this] { return WallTime{now_ms * 1000}; }}) {}

    exa::resp::Outcome run(exa::resp::Operation operation) {
        std::promise<exa::resp::Outcome> answer;
        keyspace.run(std::move(operation), [&](exa::resp::Outcome outcome) { answer.set_value(std::move(outcome)); });
        return answer.get_future().get();
    }
    exa::resp::Outcome run(Verb verb, std::vector<std::string> keys) {
        exa::resp::Operation operation;
        operation.verb = verb;
        operation.keys = std::move(keys);
        return run(std::move(operation));
    }
    void set(const std::string& key, const std::string& value, std::optional<std::int64_t> expires_ms = {},
             bool keeps_expiry = false) {
        exa::resp::Operation operation;
        operation.verb = Verb::set;
        operation.keys = {key};
        operation.value = value;
        operation.expires_ms = expires_ms;
        operation.keeps_expiry = keeps_expiry;
        run(std::move(operation));
    }
    exa::resp::Outcome expire(const std::string& key, std::optional<std::int64_t> at_ms,
                              exa::resp::ExpiryRule rule = {}) {
        exa::resp::Operation operation;
        operation.verb = Verb::expire;
        operation.keys = {key};
        operation.expires_ms = at_ms;
        operation.expiry_rule = rule;
        operation.wants_old = true;
        return run(std::move(operation));
    }
    std::string get(const std::string& key) { return text_of(run(Verb::get, {key}).values.at(0)); }
    std::string take(const std::string& key) {
        const auto outcome = run(Verb::take, {key});
        return text_of(outcome.values.empty() ? std::nullopt : outcome.values[0]);
    }

    FakeDisk disk;
    std::atomic<std::int64_t> now_ms = start_ms;
    RespKeyspace keyspace;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(updater)

BOOST_AUTO_TEST_CASE(what_is_taken_is_gone) {
    for (const bool with_disk : {true, false}) {
        Fixture fixture(with_disk);
        fixture.set("a", "value");
        BOOST_TEST(fixture.take("a") == "value");
        BOOST_TEST(fixture.take("a") == "(none)");
        BOOST_TEST(fixture.get("a") == "(none)");
        fixture.set("a", "next");
        BOOST_TEST(fixture.get("a") == "next");
    }
}

BOOST_AUTO_TEST_CASE(an_expiry_is_changed_and_the_value_stays) {
    Fixture fixture;
    fixture.set("a", "value");
    BOOST_TEST(fixture.run(Verb::expiry, {"a"}).number == 0);
    BOOST_TEST(fixture.expire("a", start_ms + 1500).done);
    BOOST_TEST(fixture.run(Verb::expiry, {"a"}).number == start_ms + 1500);
    BOOST_TEST(fixture.get("a") == "value");
    fixture.now_ms += 1499;
    BOOST_TEST(fixture.get("a") == "value");
    ++fixture.now_ms;
    BOOST_TEST(fixture.get("a") == "(none)");
    BOOST_TEST(!fixture.run(Verb::expiry, {"a"}).done);
    BOOST_TEST(!fixture.expire("a", start_ms + 9000).done);
}

BOOST_AUTO_TEST_CASE(an_expiry_can_be_lifted) {
    Fixture fixture;
    fixture.set("a", "value", start_ms + 1000);
    BOOST_TEST(text_of(fixture.expire("a", std::nullopt).values[0]) == "value");
    fixture.now_ms += 2000;
    BOOST_TEST(fixture.get("a") == "value");
    BOOST_TEST(!fixture.expire("a", std::nullopt, {.only_if_any = true}).done);
}

BOOST_AUTO_TEST_CASE(an_expiry_in_the_past_removes) {
    Fixture fixture;
    fixture.set("a", "value");
    BOOST_TEST(fixture.expire("a", start_ms - 1).done);
    BOOST_TEST(fixture.get("a") == "(none)");
}

BOOST_AUTO_TEST_CASE(rules_compare_with_the_present_expiry) {
    Fixture fixture;
    fixture.set("a", "value");
    BOOST_TEST(!fixture.expire("a", start_ms + 100, {.only_if_any = true}).done);
    BOOST_TEST(!fixture.expire("a", start_ms + 100, {.only_if_later = true}).done);
    BOOST_TEST(fixture.expire("a", start_ms + 100, {.only_if_sooner = true}).done);
    BOOST_TEST(!fixture.expire("a", start_ms + 200, {.only_if_none = true}).done);
    BOOST_TEST(!fixture.expire("a", start_ms + 200, {.only_if_sooner = true}).done);
    BOOST_TEST(fixture.expire("a", start_ms + 200, {.only_if_later = true}).done);
    BOOST_TEST(fixture.run(Verb::expiry, {"a"}).number == start_ms + 200);
}

BOOST_AUTO_TEST_CASE(a_set_keeps_the_expiry_when_told_to) {
    Fixture fixture;
    fixture.set("a", "value", start_ms + 1000);
    fixture.set("a", "kept", std::nullopt, true);
    BOOST_TEST(fixture.run(Verb::expiry, {"a"}).number == start_ms + 1000);
    fixture.set("a", "plain");
    BOOST_TEST(fixture.run(Verb::expiry, {"a"}).number == 0);
    BOOST_TEST(fixture.get("a") == "plain");
}

BOOST_AUTO_TEST_CASE(many_are_set_listed_counted_and_cleared) {
    for (const bool with_disk : {true, false}) {
        Fixture fixture(with_disk);
        exa::resp::Operation operation;
        operation.verb = Verb::set_many;
        for (int i = 0; i < 1200; ++i) {
            operation.keys.push_back("key" + std::to_string(i));
            operation.values.push_back(std::to_string(i));
        }
        BOOST_TEST(fixture.run(std::move(operation)).done);
        BOOST_TEST(fixture.get("key77") == "77");
        BOOST_TEST(fixture.run(Verb::count, {}).number == 1200);
        BOOST_TEST(fixture.run(Verb::list, {}).keys.size() == 1200u);
        fixture.run(Verb::clear, {});
        BOOST_TEST(fixture.run(Verb::count, {}).number == 0);
        BOOST_TEST(fixture.run(Verb::list, {}).keys.empty());
    }
}

// A change of an older version must not stand above a write that it has not seen.
BOOST_AUTO_TEST_CASE(a_change_gives_way_to_a_later_write) {
    RespPartsFixture parts;
    const RespVersion first = parts.write("a", "first");
    const RespVersion second = parts.write("a", "second");
    BOOST_TEST(!parts.cache.replace(user_key_of("a"), resp_removal(user_key_of("a"), 0, 3), first.stamp));
    BOOST_TEST(text_of(parts.cache.find_value(user_key_of("a"), 0).value) == "second");
    const auto changed = parts.cache.replace(user_key_of("a"), parts.version("a", {"changed"}), second.stamp);
    BOOST_REQUIRE(changed.has_value());
    BOOST_TEST(changed->stamp > second.stamp);
    parts.now_us += 16;
    BOOST_TEST(parts.write("a", "third").stamp > changed->stamp);
}

BOOST_AUTO_TEST_SUITE_END()
