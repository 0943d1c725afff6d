#include "app/builtin/replica_host.h"

#include <algorithm>
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "engine/batch_replica.h"
#include "engine/errc.h"
#include "support/print.h"
#include "unit/app/kv/fakes.h"
#include "unit/engine/chain_model.h"

BOOST_AUTO_TEST_SUITE(replica_host)

using namespace exa;
using engine::FinishReason;
using engine::RequestId;
using engine::TokenEvent;

namespace {

// Counts: the answer to any prompt is 0, 1, 2, ... of max_tokens, one a step. A first token of 666 is refused.
class CountingReplica final : public engine::Replica {
  public:
    Result<void> submit(TimePoint, RequestId id, engine::GenerateRequest request) override {
        if (request.prompt.front() == 666) return error(engine::errc::invalid_request, "666");
        running_[id] = {0, request.max_tokens};
        return success();
    }
    void cancel(RequestId id) override {
        if (running_.erase(id) == 0) return;
        events_.push_back({.request = id, .finish = FinishReason::cancelled, .has_token = false});
    }
    bool step(TimePoint) override {
        for (auto at = running_.begin(); at != running_.end();) {
            auto& [next, end] = at->second;
            TokenEvent event;
            event.request = at->first;
            event.offset = event.token = next;
            const bool last = ++next == end;
            if (last) event.finish = FinishReason::length;
            events_.push_back(event);
            at = last ? running_.erase(at) : std::next(at);
        }
        return !running_.empty();
    }
    std::optional<TokenEvent> poll_event() override {
        if (events_.empty()) return std::nullopt;
        const TokenEvent event = events_.front();
        events_.pop_front();
        return event;
    }
    engine::ReplicaLoad load() const override { return {}; }

  private:
    std::map<RequestId, std::pair<std::uint32_t, std::uint32_t>> running_;
    std::deque<TokenEvent> events_;
};

// What the sinks of a test heard, awaited from its thread.
class Ears {
  public:
    app::builtin::ReplicaHost::Sink sink() {
        return [this](std::vector<TokenEvent> batch) {
            const std::lock_guard lock(mutex_);
            heard_.insert(heard_.end(), batch.begin(), batch.end());
            changed_.notify_all();
        };
    }
    // Waits until so many requests have ended.
    std::vector<TokenEvent> wait_for_ends(std::ptrdiff_t count) {
        std::unique_lock lock(mutex_);
        const bool done = changed_.wait_for(lock, std::chrono::seconds(20), [&] {
            return std::ranges::count_if(heard_, [](const auto& event) { return event.finish.has_value(); }) >= count;
        });
        BOOST_TEST(done);
        return heard_;
    }
    void wait_for_tokens(std::size_t count) {
        std::unique_lock lock(mutex_);
        BOOST_TEST(changed_.wait_for(lock, std::chrono::seconds(20), [&] { return heard_.size() >= count; }));
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<TokenEvent> heard_;
};

wire::ReplicaRecord limits() {
    wire::ReplicaRecord record;
    record.in_flight_limit = 2;
    record.context_tokens = 4'000'000;
    return record;
}

std::unique_ptr<app::builtin::ReplicaHost> make_host() {
    return std::make_unique<app::builtin::ReplicaHost>(std::make_unique<CountingReplica>(), limits(),
                                                       app::builtin::HostConfig{}, [] { return TimePoint{}; });
}

// A clock that the test moves.
struct Hands {
    std::atomic<Duration::rep> at = 0;
    TimePoint now() const { return TimePoint{} + Duration(at.load()); }
};

engine::GenerateRequest request(std::uint32_t first, std::uint32_t max_tokens) {
    engine::GenerateRequest request;
    request.prompt = {first};
    request.max_tokens = max_tokens;
    return request;
}

constexpr std::uint32_t endless = 3'000'000;

}  // namespace

BOOST_AUTO_TEST_CASE(tokens_arrive_in_order_and_the_count_returns_to_zero) {
    Ears ears;
    const auto host = make_host();
    BOOST_TEST(host->submit(request(1, 100), ears.sink()).has_value());
    const auto heard = ears.wait_for_ends(1);
    BOOST_TEST_REQUIRE(heard.size() == 100U);
    for (std::uint32_t i = 0; i < 100; ++i) BOOST_TEST(heard[i].offset == i);
    BOOST_TEST(heard.back().finish == FinishReason::length);
    while (host->load().in_flight != 0) std::this_thread::yield();
    BOOST_TEST(host->load().in_flight == 0U);
}

BOOST_AUTO_TEST_CASE(limit_and_context_are_enforced_in_the_same_turn) {
    Ears ears;
    const auto host = make_host();
    const auto first = host->submit(request(1, endless), ears.sink());
    BOOST_TEST(first.has_value());
    BOOST_TEST(host->submit(request(2, endless), ears.sink()).has_value());
    const auto third = host->submit(request(3, 1), ears.sink());
    BOOST_REQUIRE(!third.has_value());
    BOOST_TEST(third.error().code == engine::errc::busy);
    BOOST_TEST(host->load().in_flight == 2U);
    host->cancel(first.value());
    ears.wait_for_ends(1);
    while (host->load().in_flight != 1) std::this_thread::yield();
    BOOST_TEST(host->submit(request(3, 1), ears.sink()).has_value());
    const auto long_one = host->submit(request(4, 4'000'000), ears.sink());
    BOOST_REQUIRE(!long_one.has_value());
    BOOST_TEST(long_one.error().code == engine::errc::prompt_too_long);
}

BOOST_AUTO_TEST_CASE(cancelled_request_hears_one_end_and_nothing_behind_it) {
    Ears ears;
    const auto host = make_host();
    const auto id = host->submit(request(1, endless), ears.sink());
    ears.wait_for_tokens(10);
    host->cancel(id.value());
    host->cancel(id.value());
    const auto heard = ears.wait_for_ends(1);
    BOOST_TEST(heard.back().finish == FinishReason::cancelled);
    BOOST_TEST(host->submit(request(1, 5), ears.sink()).has_value());
    BOOST_TEST(ears.wait_for_ends(2).size() == heard.size() + 5);
}

BOOST_AUTO_TEST_CASE(request_that_the_engine_refuses_fails_once) {
    Ears ears;
    const auto host = make_host();
    BOOST_TEST(host->submit(request(666, 5), ears.sink()).has_value());
    const auto heard = ears.wait_for_ends(1);
    BOOST_TEST_REQUIRE(heard.size() == 1U);
    BOOST_TEST(heard.front().finish == FinishReason::failed);
    while (host->load().in_flight != 0) std::this_thread::yield();
}

BOOST_AUTO_TEST_CASE(destruction_ends_what_runs_as_cancelled) {
    Ears ears;
    auto host = make_host();
    BOOST_TEST(host->submit(request(1, endless), ears.sink()).has_value());
    BOOST_TEST(host->submit(request(2, endless), ears.sink()).has_value());
    host.reset();
    const auto heard = ears.wait_for_ends(2);
    BOOST_TEST(
        std::ranges::count_if(heard, [](const auto& event) { return event.finish == FinishReason::cancelled; }) == 2);
}

BOOST_AUTO_TEST_CASE(stopped_host_answers_busy_and_keeps_no_sink) {
    Ears ears;
    const auto host = make_host();
    const auto held = std::make_shared<int>();
    const auto sink = [held, hear = ears.sink()](std::vector<TokenEvent> batch) { hear(std::move(batch)); };
    const auto references = held.use_count();
    BOOST_TEST(host->submit(request(1, endless), sink).has_value());
    host->stop();
    host->stop();
    BOOST_TEST(held.use_count() == references);
    BOOST_TEST(ears.wait_for_ends(1).back().finish == FinishReason::cancelled);
    const auto late = host->submit(request(2, 1), sink);
    BOOST_REQUIRE(!late.has_value());
    BOOST_TEST(late.error().code == engine::errc::busy);
    BOOST_TEST(host->load().in_flight == 0U);
}

BOOST_AUTO_TEST_CASE(a_permit_is_free_when_its_last_holder_lets_go) {
    Ears ears;
    auto host = make_host();
    auto permit = host->take_permit().value();
    BOOST_TEST(host->submit(request(1, 5), ears.sink(), permit).has_value());
    ears.wait_for_ends(1);
    // Held for the next, which needs no other.
    BOOST_TEST(host->submit(request(2, endless), ears.sink()).has_value());
    BOOST_TEST(host->submit(request(3, 1), ears.sink()).error().code == engine::errc::busy);
    BOOST_TEST(host->take_permit().error().code == engine::errc::busy);
    BOOST_TEST(host->submit(request(4, 5), ears.sink(), std::move(permit)).has_value());
    ears.wait_for_ends(2);
    while (host->load().in_flight != 1) std::this_thread::yield();
    auto late = host->take_permit().value();
    host.reset();
    late.reset();
}

BOOST_AUTO_TEST_CASE(wait_for_a_permit_ends_at_its_deadline_though_nothing_runs) {
    Hands hands;
    const auto host = std::make_unique<app::builtin::ReplicaHost>(
        std::make_unique<CountingReplica>(), limits(), app::builtin::HostConfig{}, [&] { return hands.now(); });
    const auto first = host->take_permit();
    const auto second = host->take_permit();
    std::promise<std::error_code> told;
    const auto hear = [&](Result<app::builtin::Permit> permit) { told.set_value(permit.error().code); };
    BOOST_TEST(host->wait_for_permit({.tokens = 1}, std::chrono::milliseconds(30), hear).has_value());
    BOOST_TEST(host->load().queued == 1U);
    hands.at = 30'000;
    auto error = told.get_future();
    BOOST_TEST_REQUIRE(error.wait_for(std::chrono::seconds(20)) == std::future_status::ready);
    BOOST_TEST(error.get() == engine::errc::deadline);
    BOOST_TEST(host->load().queued == 0U);
}

BOOST_AUTO_TEST_CASE(late_tokens_lower_the_limit_and_the_load_tells_it) {
    Ears ears;  // outlives the host, which goes on telling it
    Hands hands;
    wire::ReplicaRecord record = limits();
    record.in_flight_limit = 8;
    // Every look at the clock takes a millisecond: more than there may be between two tokens.
    const auto clock = [&] { return TimePoint{} + Duration(hands.at += 1'000); };
    const auto host = std::make_unique<app::builtin::ReplicaHost>(
        std::make_unique<CountingReplica>(), record, app::builtin::HostConfig{.between_tokens = Duration(500)}, clock);
    BOOST_TEST(host->load().in_flight_limit == 8U);
    BOOST_TEST(host->submit(request(1, endless), ears.sink()).has_value());
    while (host->load().in_flight_limit != 4) std::this_thread::yield();
    while (host->load().tbt_p99_ms == 0) std::this_thread::yield();
}

BOOST_AUTO_TEST_CASE(what_one_replica_has_computed_its_neighbour_does_not_compute_again) {
    const auto service = std::make_shared<app::kv::KvService>(app::kv::KvServiceConfig{}, app::test::sealer, nullptr,
                                                              [] { return WallTime{}; });
    app::builtin::HostConfig config;
    config.kv = service;
    wire::ReplicaRecord record = limits();
    record.context_tokens = 1024;
    const auto make_host = [&] {
        return std::make_unique<app::builtin::ReplicaHost>(
            std::make_unique<engine::BatchReplica>(
                std::make_unique<engine::test::ChainModel>(50, 1024, 64), engine::BatchConfig{},
                engine::BatchKvConfig{.segment_tokens = 32, .crypto = &app::test::crypto}),
            record, config, [] { return TimePoint{}; });
    };
    engine::GenerateRequest request = engine::test::make_request(300, 20, 1);
    request.kv_scope = engine::KvScope{app::test::key_of(1), 1};
    std::vector<std::vector<engine::TokenId>> answers;
    for (const std::uint32_t cached : {0U, 288U}) {
        const auto host = make_host();
        Ears ears;
        BOOST_TEST_REQUIRE(host->submit(request, ears.sink()).has_value());
        const auto heard = ears.wait_for_ends(1);
        BOOST_TEST(heard.back().cached_tokens == cached);
        std::vector<engine::TokenId>& answer = answers.emplace_back();
        for (const auto& event : heard) answer.push_back(event.token);
    }
    BOOST_TEST(answers.front() == answers.back(), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
