#include "app/builtin/place_gate.h"

#include <boost/test/unit_test.hpp>
#include <optional>
#include <string>

#include "engine/errc.h"

BOOST_AUTO_TEST_SUITE(place_gate)

using namespace exa;
using app::Place;
using app::PlaceGate;
using std::chrono::seconds;

namespace {

struct Bench {
    explicit Bench(std::uint32_t limit, engine::QueueConfig queue = {})
        : gate(std::make_shared<PlaceGate>(limit, queue, [this] { return now; })) {}

    ~Bench() {
        if (gate) gate->close();
    }

    // Those that get a free place hear of it in here.
    void free_places() { std::vector<Place>().swap(places); }

    // What the one that waits under `name` was told.
    PlaceGate::Handler hear(std::string name) {
        return [this, name = std::move(name)](Result<Place> place) {
            order.push_back(name);
            if (place)
                places.push_back(std::move(place).value());
            else
                errors.push_back(place.error().code);
        };
    }

    TimePoint now{};
    std::shared_ptr<PlaceGate> gate;
    std::vector<std::string> order;
    std::vector<Place> places;
    std::vector<std::error_code> errors;
};

engine::WaitTerms terms(TimePoint deadline = time_never) {
    return {.tokens = 10, .deadline = deadline};
}

}  // namespace

BOOST_AUTO_TEST_CASE(place_is_free_when_its_last_copy_is_gone) {
    Bench bench(1);
    std::optional<Place> first = bench.gate->take().value();
    std::optional<Place> copy = first;
    BOOST_TEST((bench.gate->take().error().code == engine::errc::busy));
    first.reset();
    BOOST_TEST(bench.gate->counts().taken == 1U);
    copy.reset();
    BOOST_TEST(bench.gate->take().has_value());
    BOOST_TEST(bench.gate->counts().taken == 0U);
}

BOOST_AUTO_TEST_CASE(freed_place_goes_to_who_waits_and_nobody_overtakes) {
    Bench bench(1);
    std::optional<Place> held = bench.gate->take().value();
    BOOST_TEST(bench.gate->wait(terms(), bench.hear("a")).has_value());
    BOOST_TEST(bench.gate->wait(terms(), bench.hear("b")).has_value());
    BOOST_TEST(bench.gate->counts().waiting == 2U);
    held.reset();
    BOOST_TEST(bench.order == std::vector<std::string>{"a"});
    BOOST_TEST(!bench.gate->take().has_value());
    bench.free_places();
    BOOST_TEST((bench.order == std::vector<std::string>{"a", "b"}));
    BOOST_TEST(bench.gate->counts().taken == 1U);
}

BOOST_AUTO_TEST_CASE(waiting_with_a_free_place_gets_it_at_once) {
    Bench bench(1);
    BOOST_TEST(bench.gate->wait(terms(), bench.hear("a")).has_value());
    BOOST_TEST(bench.places.size() == 1U);
}

BOOST_AUTO_TEST_CASE(higher_limit_lets_in_who_waits_and_a_lower_one_takes_nothing_away) {
    Bench bench(1);
    const Place held = bench.gate->take().value();
    std::ignore = bench.gate->wait(terms(), bench.hear("a"));
    std::ignore = bench.gate->wait(terms(), bench.hear("b"));
    bench.gate->set_limit(3);
    BOOST_TEST(bench.places.size() == 2U);
    bench.gate->set_limit(1);
    BOOST_TEST(bench.gate->counts().taken == 3U);
    bench.free_places();
    BOOST_TEST(!bench.gate->take().has_value());
}

BOOST_AUTO_TEST_CASE(wait_ends_at_its_deadline) {
    Bench bench(1);
    const Place held = bench.gate->take().value();
    std::ignore = bench.gate->wait(terms(bench.now + seconds(1)), bench.hear("a"));
    BOOST_TEST((bench.gate->next_deadline() == bench.now + seconds(1)));
    bench.gate->expire();
    BOOST_TEST(bench.errors.empty());
    bench.now += seconds(1);
    bench.gate->expire();
    BOOST_REQUIRE(bench.errors.size() == 1U);
    BOOST_TEST((bench.errors.front() == engine::errc::deadline));
}

BOOST_AUTO_TEST_CASE(who_left_gets_no_place) {
    Bench bench(1);
    std::optional<Place> held = bench.gate->take().value();
    const auto ticket = bench.gate->wait(terms(), bench.hear("a")).value();
    std::ignore = bench.gate->wait(terms(), bench.hear("b"));
    bench.gate->leave(ticket);
    held.reset();
    BOOST_TEST(bench.order == std::vector<std::string>{"b"});
}

BOOST_AUTO_TEST_CASE(who_is_displaced_hears_busy) {
    Bench bench(1, {.requests_max = 2});
    const Place held = bench.gate->take().value();
    for (const char* name : {"a1", "a2"})
        std::ignore = bench.gate->wait({.tenant = "a", .tokens = 10}, bench.hear(name));
    std::ignore = bench.gate->wait({.tenant = "b", .tokens = 10}, bench.hear("b"));
    BOOST_TEST(bench.order == std::vector<std::string>{"a2"});
    BOOST_TEST((bench.errors.front() == engine::errc::busy));
    BOOST_TEST(!bench.gate->wait({.tenant = "b", .tokens = 10}, bench.hear("b")).has_value());
}

BOOST_AUTO_TEST_CASE(closed_gate_ends_all_waits) {
    Bench bench(1);
    std::optional<Place> held = bench.gate->take().value();
    std::ignore = bench.gate->wait(terms(), bench.hear("a"));
    bench.gate->close();
    BOOST_TEST((bench.errors.front() == engine::errc::busy));
    BOOST_TEST(!bench.gate->wait(terms(), bench.hear("b")).has_value());
    held.reset();
    BOOST_TEST(bench.places.empty());
}

BOOST_AUTO_TEST_CASE(place_outlives_its_gate) {
    Bench bench(1);
    Place held = bench.gate->take().value();
    bench.gate.reset();
    held.reset();
}

BOOST_AUTO_TEST_SUITE_END()
