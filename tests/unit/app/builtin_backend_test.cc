#include "app/builtin_backend.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <limits>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/null_replica.h"
#include "io/errc.h"

BOOST_AUTO_TEST_SUITE(builtin_backend)

namespace asio = boost::asio;
using namespace exa;
using app::BuiltinBackend;
using app::ReplyPart;
using app::ReplyReader;

namespace {

wire::ReplicaRecord record() {
    wire::ReplicaRecord record;
    record.id = {PeerId{1}, DeploymentId{2}, 0};
    record.model = "null";
    record.numerics = "null";
    record.in_flight_limit = 1;
    record.context_tokens = 4096;
    return record;
}

wire::Open open_of(wire::RequestKind kind, std::string body) {
    wire::Open open;
    open.replica = record().id;
    open.model = "null";
    open.kind = kind;
    open.response_id = "cmpl-1";
    open.seed = 7;
    open.body = std::move(body);
    return open;
}

wire::Open completion(int max_tokens, bool stream) {
    return open_of(wire::RequestKind::completion, R"({"model":"null","prompt":"Hello","max_tokens":)" +
                                                      std::to_string(max_tokens) +
                                                      (stream ? R"(,"stream":true})" : "}"));
}

// A backend over the null engine whose clock stands at `now`: tokens come when the test moves it.
struct Bench {
    Bench() {
        const app::LoadedModel model = app::null_model();
        engine::NullConfig config;
        config.context_tokens = 4096;
        config.vocab_size = model.tokenizer->size();
        backend = std::make_shared<BuiltinBackend>(record(), model, std::make_unique<engine::NullReplica>(config),
                                                   [] { return TimePoint{}; });
    }
    ~Bench() { backend->stop(); }

    std::shared_ptr<ReplyReader> open(wire::Open request) {
        return backend->open(std::move(request), {context.get_executor(), stats});
    }

    // Waits for the engine's thread.
    ReplyPart next(ReplyReader& reply) {
        while (true) {
            if (auto part = reply.poll()) {
                BOOST_TEST_REQUIRE(part->has_value());
                return std::move(part->value());
            }
            BOOST_TEST_REQUIRE(context.run_one_for(std::chrono::seconds(20)) == 1U);
        }
    }

    // All parts behind the head.
    std::pair<std::vector<wire::Data>, wire::End> rest(ReplyReader& reply) {
        std::vector<wire::Data> pieces;
        while (true) {
            ReplyPart part = next(reply);
            if (auto* end = std::get_if<wire::End>(&part)) return {std::move(pieces), std::move(*end)};
            pieces.push_back(std::get<wire::Data>(std::move(part)));
        }
    }

    asio::io_context context;
    asio::executor_work_guard<asio::io_context::executor_type> work = asio::make_work_guard(context);
    std::shared_ptr<app::ServingStats> stats = std::make_shared<app::ServingStats>();
    std::shared_ptr<BuiltinBackend> backend;
};

std::size_t tokens_of(const std::vector<wire::Data>& pieces) {
    std::size_t tokens = 0;
    for (const wire::Data& piece : pieces) {
        if (!piece.tokens.empty()) BOOST_TEST(piece.offset == tokens);
        tokens += piece.tokens.size();
    }
    return tokens;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_stream_is_a_head_then_contiguous_tokens_then_an_end) {
    Bench bench;
    const auto reply = bench.open(completion(300, true));
    BOOST_TEST(std::get<wire::Head>(bench.next(*reply)).content_type == "text/event-stream");
    const auto [pieces, end] = bench.rest(*reply);
    BOOST_TEST(tokens_of(pieces) == 300U);
    BOOST_TEST((end.code == wire::EndCode::ok));
    BOOST_TEST(pieces.back().bytes.ends_with("data: [DONE]\n\n"));
    BOOST_TEST((reply->poll()->error().code == io::errc::closed));
    BOOST_TEST(bench.stats->completion_tokens == 300U);
    BOOST_TEST(bench.stats->cancelled == 0U);
}

BOOST_AUTO_TEST_CASE(an_answer_in_one_piece_shows_its_tokens_before_its_body) {
    Bench bench;
    const auto reply = bench.open(completion(5, false));
    BOOST_TEST(std::get<wire::Head>(bench.next(*reply)).content_type == "application/json");
    const auto [pieces, end] = bench.rest(*reply);
    BOOST_TEST(tokens_of(pieces) == 5U);
    BOOST_TEST(pieces.front().bytes.empty());
    BOOST_TEST(pieces.back().tokens.empty());
    BOOST_TEST(pieces.back().bytes.starts_with(R"({"id":"cmpl-1")"));
}

BOOST_AUTO_TEST_CASE(a_slow_reader_gets_large_pieces_cut_to_a_bound) {
    Bench bench;
    const auto reply = bench.open(completion(1000, true));
    // The engine has long been done when somebody reads.
    while (bench.backend->load().in_flight > 0) bench.context.poll();
    bench.context.poll();
    BOOST_TEST(std::holds_alternative<wire::Head>(bench.next(*reply)));
    const auto [pieces, end] = bench.rest(*reply);
    BOOST_TEST(tokens_of(pieces) == 1000U);
    BOOST_TEST(pieces.size() == 8U);
}

BOOST_AUTO_TEST_CASE(a_resumed_stream_begins_behind_the_tokens_it_was_given) {
    Bench bench;
    const auto whole = bench.open(completion(6, true));
    bench.next(*whole);
    std::vector<std::uint32_t> tokens;
    for (const wire::Data& piece : bench.rest(*whole).first)
        tokens.insert(tokens.end(), piece.tokens.begin(), piece.tokens.end());
    BOOST_TEST_REQUIRE(tokens.size() == 6U);
    while (bench.backend->load().in_flight > 0) bench.context.poll();

    wire::Open again = completion(6, true);
    again.resumed = true;
    again.choices = {{tokens[0], tokens[1]}};
    const auto rest = bench.open(again);
    bench.next(*rest);
    std::vector<std::uint32_t> others;
    for (const wire::Data& piece : bench.rest(*rest).first) {
        if (others.empty()) BOOST_TEST(piece.offset == 2U);
        others.insert(others.end(), piece.tokens.begin(), piece.tokens.end());
    }
    BOOST_TEST(others == std::vector<std::uint32_t>(tokens.begin() + 2, tokens.end()),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_full_replica_is_an_end_without_a_head_and_cancel_makes_room) {
    Bench bench;
    const auto first = bench.open(completion(4000, true));
    const auto second = bench.open(completion(1, true));
    BOOST_TEST((std::get<wire::End>(second->poll()->value()).code == wire::EndCode::busy));
    BOOST_TEST(bench.stats->refused_busy == 1U);
    first->cancel();
    BOOST_TEST((first->poll()->error().code == io::errc::cancelled));
    BOOST_TEST(bench.stats->cancelled == 1U);
    while (bench.backend->load().in_flight > 0) bench.context.poll();
    const auto third = bench.open(completion(1, true));
    BOOST_TEST(std::holds_alternative<wire::Head>(bench.next(*third)));
}

BOOST_AUTO_TEST_CASE(a_reply_that_is_dropped_frees_its_place) {
    Bench bench;
    bench.open(completion(4000, true)).reset();
    while (bench.backend->load().in_flight > 0) bench.context.poll();
    BOOST_TEST(bench.stats->cancelled == 1U);
}

BOOST_AUTO_TEST_CASE(a_clients_mistake_is_an_answer) {
    Bench bench;
    const auto reply = bench.open(open_of(wire::RequestKind::chat, R"({"model":"null"})"));
    BOOST_TEST(std::get<wire::Head>(reply->poll()->value()).status == 400);
    BOOST_TEST(std::get<wire::Data>(reply->poll()->value()).bytes.starts_with(R"({"error":)"));
    BOOST_TEST((std::get<wire::End>(reply->poll()->value()).code == wire::EndCode::ok));
    BOOST_TEST(bench.stats->client_errors == 1U);
    BOOST_TEST(bench.backend->load().in_flight == 0U);
}

BOOST_AUTO_TEST_CASE(what_the_engine_cannot_do_is_not_supported) {
    Bench bench;
    for (const auto kind : {wire::RequestKind::embedding, wire::RequestKind::unknown}) {
        const auto reply = bench.open(open_of(kind, R"({"model":"null","input":"x"})"));
        BOOST_TEST((std::get<wire::End>(reply->poll()->value()).code == wire::EndCode::not_supported));
    }
}

BOOST_AUTO_TEST_CASE(stop_ends_a_running_answer_so_that_it_can_go_on_elsewhere) {
    Bench bench;
    const auto reply = bench.open(completion(4000, true));
    bench.next(*reply);
    bench.backend->stop();
    const auto [pieces, end] = bench.rest(*reply);
    BOOST_TEST((end.code == wire::EndCode::cancelled || tokens_of(pieces) == 4000U));
    const auto late = bench.open(completion(1, true));
    BOOST_TEST((std::get<wire::End>(late->poll()->value()).code == wire::EndCode::busy));
}

BOOST_AUTO_TEST_SUITE_END()
