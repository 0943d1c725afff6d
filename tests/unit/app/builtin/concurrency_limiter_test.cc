#include "app/builtin/concurrency_limiter.h"

#include <boost/test/unit_test.hpp>
#include <optional>
#include <string>

#include "engine/errc.h"
#include "support/print.h"

BOOST_AUTO_TEST_SUITE(concurrency_limiter)

using namespace exa;
using app::builtin::ConcurrencyLimiter;
using app::builtin::Permit;
using std::chrono::seconds;

namespace {

struct Bench {
    explicit Bench(std::uint32_t limit, engine::QueueConfig queue = {})
        : limiter(std::make_shared<ConcurrencyLimiter>(limit, queue, [this] { return now; })) {}

    ~Bench() {
        if (limiter) limiter->close();
    }

    // Those that get a free permit hear of it in here.
    void free_permits() { std::vector<Permit>().swap(permits); }

    // What the one that waits under `name` was told.
    ConcurrencyLimiter::Handler hear(std::string name) {
        return [this, name = std::move(name)](Result<Permit> permit) {
            order.push_back(name);
            if (permit)
                permits.push_back(std::move(permit).value());
            else
                errors.push_back(permit.error().code);
        };
    }

    TimePoint now{};
    std::shared_ptr<ConcurrencyLimiter> limiter;
    std::vector<std::string> order;
    std::vector<Permit> permits;
    std::vector<std::error_code> errors;
};

engine::WaitTerms terms(TimePoint deadline = time_never) {
    return {.tokens = 10, .deadline = deadline};
}

}  // namespace

BOOST_AUTO_TEST_CASE(permit_is_free_when_its_last_copy_is_gone) {
    Bench bench(1);
    std::optional<Permit> first = bench.limiter->take().value();
    std::optional<Permit> copy = first;
    BOOST_TEST(bench.limiter->take().error().code == engine::errc::busy);
    first.reset();
    BOOST_TEST(bench.limiter->counts().taken == 1U);
    copy.reset();
    BOOST_TEST(bench.limiter->take().has_value());
    BOOST_TEST(bench.limiter->counts().taken == 0U);
}

BOOST_AUTO_TEST_CASE(freed_permit_goes_to_who_waits_and_nobody_overtakes) {
    Bench bench(1);
    std::optional<Permit> held = bench.limiter->take().value();
    BOOST_TEST(bench.limiter->wait(terms(), bench.hear("a")).has_value());
    BOOST_TEST(bench.limiter->wait(terms(), bench.hear("b")).has_value());
    BOOST_TEST(bench.limiter->counts().waiting == 2U);
    held.reset();
    BOOST_TEST(bench.order == std::vector<std::string>{"a"});
    BOOST_TEST(!bench.limiter->take().has_value());
    bench.free_permits();
    BOOST_TEST(bench.order == (std::vector<std::string>{"a", "b"}));
    BOOST_TEST(bench.limiter->counts().taken == 1U);
}

BOOST_AUTO_TEST_CASE(waiting_with_a_free_permit_gets_it_at_once) {
    Bench bench(1);
    BOOST_TEST(bench.limiter->wait(terms(), bench.hear("a")).has_value());
    BOOST_TEST(bench.permits.size() == 1U);
}

BOOST_AUTO_TEST_CASE(higher_limit_lets_in_who_waits_and_a_lower_one_takes_nothing_away) {
    Bench bench(1);
    const Permit held = bench.limiter->take().value();
    std::ignore = bench.limiter->wait(terms(), bench.hear("a"));
    std::ignore = bench.limiter->wait(terms(), bench.hear("b"));
    bench.limiter->set_limit(3);
    BOOST_TEST(bench.permits.size() == 2U);
    bench.limiter->set_limit(1);
    BOOST_TEST(bench.limiter->counts().taken == 3U);
    bench.free_permits();
    BOOST_TEST(!bench.limiter->take().has_value());
}

BOOST_AUTO_TEST_CASE(wait_ends_at_its_deadline) {
    Bench bench(1);
    const Permit held = bench.limiter->take().value();
    std::ignore = bench.limiter->wait(terms(bench.now + seconds(1)), bench.hear("a"));
    BOOST_TEST(bench.limiter->next_deadline() == bench.now + seconds(1));
    bench.limiter->expire();
    BOOST_TEST(bench.errors.empty());
    bench.now += seconds(1);
    bench.limiter->expire();
    BOOST_TEST_REQUIRE(bench.errors.size() == 1U);
    BOOST_TEST(bench.errors.front() == engine::errc::deadline);
}

BOOST_AUTO_TEST_CASE(who_left_gets_no_permit) {
    Bench bench(1);
    std::optional<Permit> held = bench.limiter->take().value();
    const auto ticket = bench.limiter->wait(terms(), bench.hear("a")).value();
    std::ignore = bench.limiter->wait(terms(), bench.hear("b"));
    bench.limiter->leave(ticket);
    held.reset();
    BOOST_TEST(bench.order == std::vector<std::string>{"b"});
}

BOOST_AUTO_TEST_CASE(who_is_displaced_hears_busy) {
    Bench bench(1, {.requests_max = 2});
    const Permit held = bench.limiter->take().value();
    for (const char* name : {"a1", "a2"})
        std::ignore = bench.limiter->wait({.tenant = "a", .tokens = 10}, bench.hear(name));
    std::ignore = bench.limiter->wait({.tenant = "b", .tokens = 10}, bench.hear("b"));
    BOOST_TEST(bench.order == std::vector<std::string>{"a2"});
    BOOST_TEST(bench.errors.front() == engine::errc::busy);
    BOOST_TEST(!bench.limiter->wait({.tenant = "b", .tokens = 10}, bench.hear("b")).has_value());
}

BOOST_AUTO_TEST_CASE(closed_gate_ends_all_waits) {
    Bench bench(1);
    std::optional<Permit> held = bench.limiter->take().value();
    std::ignore = bench.limiter->wait(terms(), bench.hear("a"));
    bench.limiter->close();
    BOOST_TEST(bench.errors.front() == engine::errc::busy);
    BOOST_TEST(!bench.limiter->wait(terms(), bench.hear("b")).has_value());
    held.reset();
    BOOST_TEST(bench.permits.empty());
}

BOOST_AUTO_TEST_CASE(permit_outlives_its_limiter) {
    Bench bench(1);
    Permit held = bench.limiter->take().value();
    bench.limiter.reset();
    held.reset();
}

BOOST_AUTO_TEST_SUITE_END()
