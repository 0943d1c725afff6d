#include "app/builtin/sequence_group.h"

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <map>
#include <optional>
#include <utility>

#include "engine/errc.h"
#include "engine/null_replica.h"
#include "support/print.h"

BOOST_AUTO_TEST_SUITE(sequences)

namespace asio = boost::asio;
using namespace exa;
using app::builtin::SequenceGroup;
using engine::FinishReason;
using engine::TokenEvent;

namespace {

// A host over the null engine whose clock stands: what runs ends at once, unless it is endless.
struct Bench {
    explicit Bench(std::uint32_t permits) {
        wire::ReplicaRecord record;
        record.in_flight_limit = permits;
        record.context_tokens = 1 << 30;
        engine::NullConfig config;
        config.context_tokens = record.context_tokens;
        config.in_flight_limit = permits;
        host = std::make_shared<app::builtin::ReplicaHost>(std::make_unique<engine::NullReplica>(config), record,
                                                           app::builtin::HostConfig{}, [] { return TimePoint{}; });
    }
    ~Bench() { host->stop(); }

    std::shared_ptr<SequenceGroup> make(std::size_t count, std::size_t siblings, std::uint32_t max_tokens = 3) {
        std::vector<SequenceGroup::Item> items(count);
        for (std::size_t i = 0; i < count; ++i) {
            items[i].first_of_prompt = i - i % siblings;
            items[i].request.emplace();
            items[i].request->prompt = {1};
            items[i].request->max_tokens = max_tokens;
        }
        return std::make_shared<SequenceGroup>(host, mailbox, std::move(items));
    }

    SequenceGroup::Handler hear() {
        return [this](std::size_t index, const std::vector<TokenEvent>& events) {
            order.push_back(index);
            most_in_flight = std::max(most_in_flight, host->load().in_flight);
            if (events.back().finish) finishes[index] = *events.back().finish;
        };
    }

    template <class Done>
    void run_until(Done done) {
        while (!done()) BOOST_TEST_REQUIRE(context.run_one_for(std::chrono::seconds(20)) == 1U);
    }

    asio::io_context context;
    asio::executor_work_guard<asio::io_context::executor_type> work = asio::make_work_guard(context);
    std::shared_ptr<app::shared::Mailbox> mailbox = std::make_shared<app::shared::Mailbox>(context.get_executor());
    std::shared_ptr<app::builtin::ReplicaHost> host;
    std::vector<std::size_t> order;  // of items that were heard of
    std::map<std::size_t, FinishReason> finishes;
    std::uint32_t most_in_flight = 0;
};

constexpr std::uint32_t endless = 1 << 29;

}  // namespace

BOOST_AUTO_TEST_CASE(many_go_through_one_permit) {
    Bench bench(1);
    const auto all = bench.make(20, 5);
    BOOST_TEST(all->start(bench.hear(), {}, nullptr).has_value());
    bench.run_until([&] { return bench.finishes.size() == 20; });
    BOOST_TEST(bench.most_in_flight <= 1U);
    for (const auto& [index, finish] : bench.finishes) BOOST_TEST(finish == FinishReason::length);
    BOOST_TEST(!all->busy());
    while (bench.host->load().in_flight != 0) bench.context.poll();
}

BOOST_AUTO_TEST_CASE(no_more_run_at_once_than_the_bound_of_one_reply) {
    Bench bench(32);
    const auto all = bench.make(20, 20, endless);
    BOOST_TEST(all->start(bench.hear(), {}, nullptr).has_value());
    bench.run_until([&] { return bench.host->load().in_flight == SequenceGroup::running_max; });
    BOOST_TEST(bench.most_in_flight <= SequenceGroup::running_max);
}

BOOST_AUTO_TEST_CASE(siblings_wait_for_their_leader_to_begin) {
    Bench bench(32);
    const auto all = bench.make(4, 4);
    BOOST_TEST(all->start(bench.hear(), {}, nullptr).has_value());
    BOOST_TEST(bench.host->load().in_flight <= 1U);
    bench.run_until([&] { return bench.finishes.size() == 4; });
    BOOST_TEST(bench.order.front() == 0U);
}

BOOST_AUTO_TEST_CASE(without_a_permit_nothing_begins) {
    Bench bench(1);
    const auto permit = bench.host->take_permit();
    const auto all = bench.make(3, 3);
    BOOST_TEST(all->start(bench.hear(), {}, nullptr).error().code == engine::errc::busy);
    bench.context.poll();
    BOOST_TEST(bench.order.empty());
}

BOOST_AUTO_TEST_CASE(what_has_ended_elsewhere_is_passed_over) {
    Bench bench(1);
    std::vector<SequenceGroup::Item> items(4);
    for (const std::size_t index : {1U, 3U}) {
        items[index].request.emplace();
        items[index].request->prompt = {1};
        items[index].request->max_tokens = 2;
    }
    const auto all = std::make_shared<SequenceGroup>(bench.host, bench.mailbox, std::move(items));
    BOOST_TEST(all->start(bench.hear(), {}, nullptr).has_value());
    bench.run_until([&] { return bench.finishes.size() == 2; });
    BOOST_TEST(bench.finishes.contains(1));
    BOOST_TEST(bench.finishes.contains(3));
}

BOOST_AUTO_TEST_CASE(a_cancelled_one_leaves_its_permit_to_the_next) {
    Bench bench(1);
    const auto all = bench.make(2, 2, endless);
    BOOST_TEST(all->start(bench.hear(), {}, nullptr).has_value());
    bench.run_until([&] { return !bench.order.empty(); });
    all->cancel(0);
    bench.run_until([&] { return bench.order.back() == 1; });
    BOOST_TEST(bench.finishes.at(0) == FinishReason::cancelled);
    all->cancel();
    while (bench.host->load().in_flight != 0) bench.context.poll();
}

BOOST_AUTO_TEST_CASE(dropped_ones_free_their_permits) {
    Bench bench(4);
    bench.make(20, 1, endless)->start(bench.hear(), {}, nullptr).value();
    while (bench.host->load().in_flight != 0) bench.context.poll();
    BOOST_TEST(bench.finishes.empty());
}

BOOST_AUTO_TEST_CASE(a_replica_that_stops_ends_those_that_wait) {
    Bench bench(1);
    const auto all = bench.make(5, 1, endless);
    BOOST_TEST(all->start(bench.hear(), {}, nullptr).has_value());
    bench.run_until([&] { return !bench.order.empty(); });
    bench.host->stop();
    bench.run_until([&] { return bench.finishes.size() == 2; });
    for (const auto& [index, finish] : bench.finishes) BOOST_TEST(finish == FinishReason::cancelled);
    BOOST_TEST(!all->busy());
}

BOOST_AUTO_TEST_CASE(who_may_wait_begins_when_a_permit_is_free) {
    Bench bench(1);
    std::optional<app::builtin::Permit> held = bench.host->take_permit().value();
    const auto all = bench.make(3, 3);
    BOOST_TEST(all->start(bench.hear(), {.wait = std::chrono::seconds(5)}, nullptr).has_value());
    bench.context.poll();
    BOOST_TEST(bench.order.empty());
    BOOST_TEST(all->busy());
    BOOST_TEST(bench.host->load().queued == 1U);
    held.reset();
    bench.run_until([&] { return bench.finishes.size() == 3; });
    while (bench.host->load().in_flight != 0) bench.context.poll();
}

BOOST_AUTO_TEST_CASE(who_waited_in_vain_hears_why_and_nothing_else) {
    Bench bench(1);
    const app::builtin::Permit held = bench.host->take_permit().value();
    const auto all = bench.make(3, 3);
    std::optional<std::error_code> why;
    BOOST_TEST(
        all->start(bench.hear(), {.wait = std::chrono::seconds(5)}, [&](const Error& error) { why = error.code; })
            .has_value());
    bench.host->stop();
    bench.run_until([&] { return why.has_value(); });
    BOOST_TEST(*why == engine::errc::busy);
    BOOST_TEST(!all->busy());
    BOOST_TEST(bench.order.empty());
}

BOOST_AUTO_TEST_CASE(who_gives_up_waiting_takes_no_permit) {
    Bench bench(1);
    std::optional<app::builtin::Permit> held = bench.host->take_permit().value();
    const auto all = bench.make(3, 3);
    BOOST_TEST(all->start(bench.hear(), {.wait = std::chrono::seconds(5)}, nullptr).has_value());
    all->cancel();
    BOOST_TEST(bench.host->load().queued == 0U);
    held.reset();
    bench.context.poll();
    BOOST_TEST(bench.host->load().in_flight == 0U);
    BOOST_TEST(bench.order.empty());
}

BOOST_AUTO_TEST_SUITE_END()
