#include "app/builtin/backend.h"

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/null_replica.h"
#include "io/errc.h"
#include "support/print.h"
#include "unit/app/kv/fakes.h"
#include "unit/engine/chain_model.h"

BOOST_AUTO_TEST_SUITE(builtin_backend)

namespace asio = boost::asio;
using namespace exa;
using app::builtin::BuiltinBackend;
using app::replica::ReplyPart;
using app::replica::ReplyReader;

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

// With a pause, which never ends, an answer has one token and goes on.
std::unique_ptr<engine::Replica> null_engine(Duration pause = {}) {
    engine::NullConfig config;
    config.decode_per_token = pause;
    config.context_tokens = 4096;
    config.vocab_size = app::builtin::null_model().tokenizer->size();
    return std::make_unique<engine::NullReplica>(config);
}

// With everything that needs a model.
std::unique_ptr<engine::Replica> chain_engine() {
    auto chain = std::make_unique<engine::test::ChainModel>(app::builtin::null_model().tokenizer->size(), 4096, 1024);
    return std::make_unique<engine::BatchReplica>(
        std::move(chain), engine::BatchConfig{},
        engine::BatchKvConfig{.segment_tokens = 32, .crypto = &app::test::crypto});
}

// A backend over an engine whose clock stands.
struct Bench {
    explicit Bench(std::unique_ptr<engine::Replica> replica = null_engine(),
                   std::shared_ptr<app::kv::KvService> kv = nullptr,
                   std::shared_ptr<const app::kv::KvScopes> scopes = nullptr) {
        app::builtin::HostConfig host;
        host.kv = std::move(kv);
        backend = std::make_shared<BuiltinBackend>(
            record(), app::builtin::null_model(), std::move(replica), host, [] { return TimePoint{}; },
            std::move(scopes));
    }
    ~Bench() { backend->stop(); }

    std::shared_ptr<ReplyReader> open(wire::Open request) {
        return backend->open(std::move(request), {context.get_executor(), stats, mailbox});
    }

    // Waits until the engine has given all permits back: a reader may have its answer a moment earlier.
    void mark_persisted() {
        while (backend->load().in_flight > 0) context.poll();
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
    std::shared_ptr<app::replica::ReceiverStats> stats = std::make_shared<app::replica::ReceiverStats>();
    std::shared_ptr<app::shared::Mailbox> mailbox = std::make_shared<app::shared::Mailbox>(context.get_executor());
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

// What a client has got of an answer of several choices.
struct Got {
    std::vector<std::vector<std::uint32_t>> tokens;
    std::vector<std::string> bytes;

    void add(const wire::Data& piece) {
        tokens.resize(std::max<std::size_t>(tokens.size(), piece.choice + 1U));
        bytes.resize(tokens.size());
        BOOST_TEST(piece.offset == tokens[piece.choice].size());
        tokens[piece.choice].insert(tokens[piece.choice].end(), piece.tokens.begin(), piece.tokens.end());
        bytes[piece.choice] += piece.bytes;
    }
    // Which choice ends last may differ.
    std::vector<std::string> without_end() const {
        std::vector<std::string> out = bytes;
        std::size_t ends = 0;
        for (std::string& text : out) {
            constexpr std::string_view end = "data: [DONE]\n\n";
            if (!text.ends_with(end)) continue;
            text.resize(text.size() - end.size());
            ++ends;
        }
        BOOST_TEST(ends <= 1U);
        return out;
    }
};

wire::Open several(const char* more) {
    return open_of(
        wire::RequestKind::completion,
        std::string(R"({"model":"null","prompt":["Hello","Good morning"],"n":2,"max_tokens":24)") + more + "}");
}

std::string body_of(Bench& bench, wire::Open open) {
    const auto reply = bench.open(std::move(open));
    BOOST_TEST(std::get<wire::Head>(bench.next(*reply)).status == 200);
    std::string body;
    for (const wire::Data& piece : bench.rest(*reply).first) body += piece.bytes;
    bench.mark_persisted();
    return body;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_stream_is_a_head_then_contiguous_tokens_then_an_end) {
    Bench bench;
    const auto reply = bench.open(completion(300, true));
    BOOST_TEST(std::get<wire::Head>(bench.next(*reply)).content_type == "text/event-stream");
    const auto [pieces, end] = bench.rest(*reply);
    BOOST_TEST(tokens_of(pieces) == 300U);
    BOOST_TEST(end.code == wire::EndCode::ok);
    BOOST_TEST(pieces.back().bytes.ends_with("data: [DONE]\n\n"));
    BOOST_TEST(reply->poll()->error().code == io::errc::closed);
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
    bench.mark_persisted();
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
    bench.mark_persisted();

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
    Bench bench(null_engine(std::chrono::seconds(1)));
    const auto first = bench.open(completion(4000, true));
    const auto second = bench.open(completion(1, true));
    BOOST_TEST(std::get<wire::End>(second->poll()->value()).code == wire::EndCode::busy);
    BOOST_TEST(bench.stats->refused_busy == 1U);
    first->cancel();
    BOOST_TEST(first->poll()->error().code == io::errc::cancelled);
    BOOST_TEST(bench.stats->cancelled == 1U);
    bench.mark_persisted();
    const auto third = bench.open(completion(1, true));
    BOOST_TEST(std::holds_alternative<wire::Head>(bench.next(*third)));
}

BOOST_AUTO_TEST_CASE(a_reply_that_is_dropped_frees_its_permit) {
    Bench bench(null_engine(std::chrono::seconds(1)));
    bench.open(completion(4000, true)).reset();
    bench.mark_persisted();
    BOOST_TEST(bench.stats->cancelled == 1U);
}

BOOST_AUTO_TEST_CASE(a_clients_mistake_is_an_answer) {
    Bench bench;
    const auto reply = bench.open(open_of(wire::RequestKind::chat, R"({"model":"null"})"));
    BOOST_TEST(std::get<wire::Head>(reply->poll()->value()).status == 400);
    BOOST_TEST(std::get<wire::Data>(reply->poll()->value()).bytes.starts_with(R"({"error":)"));
    BOOST_TEST(std::get<wire::End>(reply->poll()->value()).code == wire::EndCode::ok);
    BOOST_TEST(bench.stats->client_errors == 1U);
    BOOST_TEST(bench.backend->load().in_flight == 0U);
}

BOOST_AUTO_TEST_CASE(what_the_engine_cannot_do_is_not_supported) {
    Bench bench;
    const auto reply = bench.open(open_of(wire::RequestKind::unknown, R"({"model":"null","input":"x"})"));
    BOOST_TEST(std::get<wire::End>(reply->poll()->value()).code == wire::EndCode::not_supported);
}

BOOST_AUTO_TEST_CASE(stop_ends_a_running_answer_so_that_it_can_go_on_elsewhere) {
    Bench bench(null_engine(std::chrono::seconds(1)));
    const auto reply = bench.open(completion(4000, true));
    bench.next(*reply);
    bench.backend->stop();
    const wire::End end = bench.rest(*reply).second;
    BOOST_TEST(end.code == wire::EndCode::cancelled);
    const auto late = bench.open(completion(1, true));
    BOOST_TEST(std::get<wire::End>(late->poll()->value()).code == wire::EndCode::busy);
}

BOOST_AUTO_TEST_CASE(choices_stream_beside_one_another_through_one_permit) {
    Bench bench(chain_engine());
    const auto reply = bench.open(several(R"(,"stream":true)"));
    bench.next(*reply);
    Got got;
    const auto [pieces, end] = bench.rest(*reply);
    for (const wire::Data& piece : pieces) got.add(piece);
    BOOST_TEST(end.code == wire::EndCode::ok);
    BOOST_TEST_REQUIRE(got.tokens.size() == 4U);
    std::size_t tokens = 0;
    for (std::size_t i = 0; i < 4; ++i) {
        tokens += got.tokens[i].size();
        BOOST_TEST(got.tokens[i].size() > 4U);
        BOOST_TEST(got.bytes[i].find("\"index\":" + std::to_string(i)) != std::string::npos);
        for (std::size_t j = 0; j < i; ++j) BOOST_TEST(got.tokens[i] != got.tokens[j]);
    }
    BOOST_TEST(pieces.back().bytes.ends_with("data: [DONE]\n\n"));
    BOOST_TEST(bench.stats->completion_tokens == tokens);
    bench.mark_persisted();
}

BOOST_AUTO_TEST_CASE(the_first_choice_is_what_one_alone_would_be) {
    Bench bench(chain_engine());
    const char* one = R"({"model":"null","prompt":"Hello","max_tokens":9})";
    const char* two = R"({"model":"null","prompt":"Hello","max_tokens":9,"n":2})";
    const auto text = [](const std::string& body) {
        const std::size_t at = body.find(R"("text":)");
        return body.substr(at, body.find(R"("logprobs")") - at);
    };
    BOOST_TEST(text(body_of(bench, open_of(wire::RequestKind::completion, one))) ==
               text(body_of(bench, open_of(wire::RequestKind::completion, two))));
}

BOOST_AUTO_TEST_CASE(choices_go_on_wherever_their_stream_was_cut) {
    for (const char* more :
         {R"(,"stream":true)", R"(,"stream":true,"logprobs":2,"echo":false)",
          R"(,"stream":true,"echo":true,"presence_penalty":1,"stop":["a","Q"])",
          R"(,"stream":true,"frequency_penalty":1.5,"temperature":0,"logit_bias":{"70":5})",
          R"(,"stream":true,"echo":true,"logprobs":1)",
          R"(,"stream":true,"top_k":9,"min_p":0.3,"repetition_penalty":1.4,"min_tokens":9,"stop":["a"],
                                "stop_token_ids":[70,71],"ignore_eos":true,"skip_special_tokens":false)"}) {
        Bench bench(chain_engine());
        const auto reply = bench.open(several(more));
        bench.next(*reply);
        const auto pieces = bench.rest(*reply).first;
        Got whole;
        for (const wire::Data& piece : pieces) whole.add(piece);
        for (std::size_t cut = 0; cut <= pieces.size(); cut += 3) {
            Got got;
            for (std::size_t i = 0; i < cut; ++i) got.add(pieces[i]);
            bench.mark_persisted();
            wire::Open again = several(more);
            again.resumed = true;
            if (!got.tokens.empty()) again.choices = got.tokens;
            const auto rest = bench.open(again);
            const ReplyPart first = bench.next(*rest);
            if (!std::holds_alternative<wire::Head>(first)) {
                BOOST_TEST(std::get<wire::End>(first).code == wire::EndCode::ok);
            } else {
                for (const wire::Data& piece : bench.rest(*rest).first) got.add(piece);
            }
            BOOST_TEST(got.tokens == whole.tokens);
            BOOST_TEST(got.without_end() == whole.without_end(), boost::test_tools::per_element());
        }
    }
}

BOOST_AUTO_TEST_CASE(an_answer_in_one_piece_goes_on_too_but_for_logprobs) {
    for (const bool logprobs : {false, true}) {
        Bench bench(chain_engine());
        wire::Open open = several(logprobs ? R"(,"logprobs":1)" : "");
        const auto reply = bench.open(open);
        bench.next(*reply);
        const auto pieces = bench.rest(*reply).first;
        const std::string whole = pieces.back().bytes;
        bench.mark_persisted();
        const std::uint64_t made = bench.stats->completion_tokens;
        for (std::size_t cut = 1; cut < pieces.size(); cut += 5) {
            Got got;
            for (std::size_t i = 0; i < cut; ++i) got.add(pieces[i]);
            std::size_t had = 0;
            for (const auto& tokens : got.tokens) had += tokens.size();
            open.resumed = true;
            open.choices = got.tokens;
            bench.stats->completion_tokens = 0;
            std::string body = body_of(bench, open);
            // Whoever resumes finds other tokens in its cache.
            const auto without_usage = [](const std::string& text) { return text.substr(0, text.find(R"("usage")")); };
            BOOST_TEST(without_usage(body) == without_usage(whole));
            BOOST_TEST(bench.stats->completion_tokens == (logprobs ? made : made - had));
        }
    }
}

BOOST_AUTO_TEST_CASE(an_event_that_fits_no_frame_is_an_error_of_its_stream_alone) {
    Bench bench(chain_engine());
    const std::string large(600 * 1024, 'x');
    wire::Open open = open_of(wire::RequestKind::response,
                              R"({"model":"null","input":"Hi","stream":true,"metadata":{"k":")" + large + "\"}}");
    const auto reply = bench.open(open);
    bench.next(*reply);
    const auto [pieces, end] = bench.rest(*reply);
    BOOST_TEST_REQUIRE(pieces.size() == 1U);
    BOOST_TEST(pieces[0].bytes.starts_with("event: error\n"));
    BOOST_TEST(end.code == wire::EndCode::ok);
    bench.mark_persisted();
}

BOOST_AUTO_TEST_CASE(more_resumed_choices_than_were_asked_for_are_left_alone) {
    Bench bench(chain_engine());
    wire::Open open = completion(4, true);
    open.resumed = true;
    open.choices = {{1}, {2, 3}, {0xFFFFFFFF}};
    const auto reply = bench.open(open);
    bench.next(*reply);
    BOOST_TEST(bench.rest(*reply).second.code == wire::EndCode::ok);
}

BOOST_AUTO_TEST_CASE(a_resumed_token_that_is_none_fails_the_answer) {
    Bench bench(chain_engine());
    wire::Open open = completion(4, true);
    open.resumed = true;
    open.choices = {{0xFFFFFFFF}};
    const auto reply = bench.open(open);
    BOOST_TEST(std::get<wire::End>(bench.next(*reply)).code == wire::EndCode::failed);
}

BOOST_AUTO_TEST_CASE(a_response_is_one_choice_of_another_shape) {
    Bench bench(chain_engine());
    wire::Open open = open_of(wire::RequestKind::response, R"({"model":"null","input":"Hi","max_output_tokens":5})");
    open.response_id = "resp_1";
    const std::string body = body_of(bench, open);
    BOOST_TEST(body.starts_with(R"({"id":"resp_1","object":"response")"));
    BOOST_TEST(body.find(R"("output_tokens":5)") != std::string::npos);
    open.body.insert(open.body.size() - 1, R"(,"stream":true)");
    const auto reply = bench.open(open);
    bench.next(*reply);
    const auto pieces = bench.rest(*reply).first;
    BOOST_TEST(tokens_of(pieces) == 5U);
    BOOST_TEST(pieces.front().bytes.starts_with("event: response.created\n"));
    BOOST_TEST(pieces.back().bytes.find("event: response.incomplete\n") != std::string::npos);

    // All tokens are there: so is the end.
    bench.mark_persisted();
    open.resumed = true;
    open.choices.front().clear();
    for (const wire::Data& piece : pieces)
        open.choices.front().insert(open.choices.front().end(), piece.tokens.begin(), piece.tokens.end());
    BOOST_TEST(std::get<wire::End>(bench.next(*bench.open(open))).code == wire::EndCode::ok);
}

BOOST_AUTO_TEST_CASE(embeddings_are_unit_vectors_of_their_own_inputs) {
    Bench bench(chain_engine());
    const auto vectors = [&](const char* input) {
        const std::string body = body_of(
            bench, open_of(wire::RequestKind::embedding, std::string(R"({"model":"null","input":)") + input + "}"));
        const auto value = boost::json::parse(body);
        std::vector<std::vector<double>> out;
        for (const auto& item : value.at("data").as_array()) {
            out.emplace_back();
            for (const auto& number : item.at("embedding").as_array()) out.back().push_back(number.to_number<double>());
        }
        return out;
    };
    const auto three = vectors(R"(["one","two","one"])");
    BOOST_TEST_REQUIRE(three.size() == 3U);
    BOOST_TEST(three[0] == three[2]);
    BOOST_TEST(three[0] != three[1]);
    BOOST_TEST((vectors(R"("two")").front()) == three[1]);
    double squares = 0;
    for (const double number : three[0]) squares += number * number;
    BOOST_TEST(std::abs(squares - 1) < 1e-5);
    BOOST_TEST(vectors(R"([[65,66],[67]])").size() == 2U);
    BOOST_TEST(bench.stats->prompt_tokens > 0U);
    bench.mark_persisted();
}

BOOST_AUTO_TEST_CASE(embeddings_that_take_long_show_that_they_go_on) {
    Bench bench(chain_engine());
    const auto reply = bench.open(open_of(wire::RequestKind::embedding, R"({"model":"null","input":["a","b","c"]})"));
    BOOST_TEST(std::get<wire::Head>(bench.next(*reply)).status == 200);
    // One permit: one after another, and the reader is there in between.
    const auto [pieces, end] = bench.rest(*reply);
    BOOST_TEST(end.code == wire::EndCode::ok);
    BOOST_TEST_REQUIRE(pieces.size() == 2U);
    BOOST_TEST(pieces[0] == wire::Data{});
    BOOST_TEST(!pieces[1].bytes.empty());
}

BOOST_AUTO_TEST_CASE(text_becomes_tokens_and_text_again_without_the_engine) {
    Bench bench;
    const auto kind = wire::RequestKind::tokenize;
    const std::string tokens = body_of(bench, open_of(kind, R"({"prompt":"Hi there","add_special_tokens":false})"));
    const auto value = boost::json::parse(tokens);
    BOOST_TEST(value.at("max_model_len").as_int64() == 4096);
    const std::string list = boost::json::serialize(value.at("tokens"));
    BOOST_TEST(body_of(bench, open_of(wire::RequestKind::detokenize, R"({"tokens":)" + list + "}")) ==
               R"({"prompt":"Hi there"})");
    const char* messages = R"({"messages":[{"role":"user","content":"Hi"}],"add_generation_prompt":)";
    BOOST_TEST(body_of(bench, open_of(kind, std::string(messages) + "true}")).size() >
               body_of(bench, open_of(kind, std::string(messages) + "false}")).size());
}

BOOST_AUTO_TEST_CASE(an_assistants_last_message_is_continued) {
    Bench bench;
    const auto tokens = [&](const std::string& body) {
        const auto value = boost::json::parse(body_of(bench, open_of(wire::RequestKind::tokenize, body)));
        return boost::json::serialize(value.at("tokens"));
    };
    const std::string by_hand = tokens(
        R"({"prompt":"<|im_start|>user\nColours?<|im_end|>\n<|im_start|>assistant\n1. Red\n2.","add_special_tokens":false})");
    const std::string question = R"({"messages":[{"role":"user","content":"Colours?"},{"role":"assistant","content":)";
    BOOST_TEST(tokens(question + R"("1. Red\n2."}]})") == by_hand);
    BOOST_TEST(tokens(question + R"([{"type":"text","text":"1. Red"},{"type":"text","text":"2."}]}]})") == by_hand);
    BOOST_TEST(tokens(question + R"("1. Red\n2.","prefix":true}]})") == by_hand);
    BOOST_TEST(tokens(question + R"("1. Red\n2."}],"continue_final_message":true,"add_generation_prompt":false})") ==
               by_hand);
    BOOST_TEST(tokens(question + R"("1. Red\n2."}],"add_generation_prompt":true})") != by_hand);
}

BOOST_AUTO_TEST_CASE(a_developer_is_the_system_in_chats_and_responses) {
    Bench bench;
    const auto prompt_tokens = [&](wire::RequestKind kind, const char* key, const char* role) {
        const std::string body = std::string(R"({"model":"null",")") + key + R"(":[{"role":")" + role +
                                 R"(","content":"Reply in capitals."},{"role":"user","content":"Hi"}]})";
        const auto value = boost::json::parse(body_of(bench, open_of(kind, body)));
        const auto& usage = value.at("usage").as_object();
        return (usage.contains("input_tokens") ? usage.at("input_tokens") : usage.at("prompt_tokens")).as_int64();
    };
    using wire::RequestKind;
    BOOST_TEST(prompt_tokens(RequestKind::chat, "messages", "developer") ==
               prompt_tokens(RequestKind::chat, "messages", "system"));
    BOOST_TEST(prompt_tokens(RequestKind::response, "input", "developer") ==
               prompt_tokens(RequestKind::response, "input", "system"));
}

BOOST_AUTO_TEST_CASE(an_echo_with_logprobs_has_those_of_the_prompt) {
    Bench bench(chain_engine());
    const char* body = R"({"model":"null","prompt":"Hello there","max_tokens":3,"echo":true,"logprobs":2,"n":2})";
    const auto value = boost::json::parse(body_of(bench, open_of(wire::RequestKind::completion, body)));
    const auto prompt = value.at("usage").at("prompt_tokens").as_int64();
    for (const auto& choice : value.at("choices").as_array()) {
        const auto& logprobs = choice.at("logprobs");
        for (const char* list : {"tokens", "token_logprobs", "top_logprobs", "text_offset"})
            BOOST_TEST(logprobs.at(list).as_array().size() == static_cast<std::size_t>(prompt + 3), list);
        BOOST_TEST(logprobs.at("token_logprobs").at(0).is_null());
        BOOST_TEST(logprobs.at("token_logprobs").at(1).is_double());
        std::string text;
        for (const auto& token : logprobs.at("tokens").as_array()) text += token.as_string().c_str();
        BOOST_TEST(std::string(choice.at("text").as_string().c_str()).starts_with("Hello there"));
        BOOST_TEST(text.starts_with("Hello there"), text);
    }
}

BOOST_AUTO_TEST_CASE(a_prompt_is_cut_to_its_last_tokens) {
    Bench bench(chain_engine());
    const auto prompt_tokens = [&](const std::string& prompt, const char* tokens) {
        const std::string body = R"({"model":"null","max_tokens":1,"echo":true,"prompt":")" + prompt +
                                 R"(","truncate_prompt_tokens":)" + tokens + "}";
        return boost::json::parse(body_of(bench, open_of(wire::RequestKind::completion, body)));
    };
    const auto cut = prompt_tokens("one two three x", "2");
    BOOST_TEST(cut.at("usage").at("prompt_tokens").as_int64() == 2);
    BOOST_TEST(std::string(cut.at("choices").at(0).at("text").as_string().c_str()).starts_with(" x"));
    BOOST_TEST(prompt_tokens("x", "2").at("usage").at("prompt_tokens").as_int64() == 1);
    std::string longer;
    for (int i = 0; i < 5000; ++i) longer += "x ";
    BOOST_TEST(prompt_tokens(longer, "-1").at("usage").at("prompt_tokens").as_int64() == 4095);
}

BOOST_AUTO_TEST_CASE(vectors_may_be_asked_for_in_their_own_width_only) {
    Bench bench(chain_engine());
    const auto status = [&](int width) {
        const auto reply =
            bench.open(open_of(wire::RequestKind::embedding,
                               R"({"model":"null","input":"a","dimensions":)" + std::to_string(width) + "}"));
        const int status = std::get<wire::Head>(bench.next(*reply)).status;
        bench.rest(*reply);
        return status;
    };
    BOOST_TEST(status(8) == 200);
    BOOST_TEST(status(7) == 400);
}

BOOST_AUTO_TEST_CASE(a_count_of_tokens_in_a_400_is_true) {
    Bench bench;
    const auto message = [&](const std::string& prompt) {
        const auto reply =
            bench.open(open_of(wire::RequestKind::completion, R"({"model":"null","prompt":)" + prompt + "}"));
        BOOST_TEST(std::get<wire::Head>(bench.next(*reply)).status == 400);
        return std::get<wire::Data>(bench.next(*reply)).bytes;
    };
    std::string words;
    std::string ids = "[65";
    for (int i = 0; i < 6000; ++i) words += "x ";
    for (int i = 0; i < 5999; ++i) ids += ",65";
    BOOST_TEST(message("\"" + words + "\"").find("the prompt has at least 409") != std::string::npos);
    BOOST_TEST(message(ids + "]").find("the prompt has 6000 ") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(control_tokens_are_shown_when_they_are_asked_for) {
    Bench bench(chain_engine());
    const auto end = app::builtin::null_model().tokenizer->find_special("<|im_end|>").value();
    const auto text = [&](const char* more) {
        const std::string body = R"({"model":"null","prompt":"a","max_tokens":3,"temperature":0,"logit_bias":{")" +
                                 std::to_string(end) + R"(":100},"ignore_eos":true)" + more + "}";
        const auto value = boost::json::parse(body_of(bench, open_of(wire::RequestKind::completion, body)));
        BOOST_TEST(value.at("usage").at("completion_tokens").as_int64() == 3);
        return std::string(value.at("choices").at(0).at("text").as_string().c_str());
    };
    BOOST_TEST(text("") == "");
    BOOST_TEST(text(R"(,"skip_special_tokens":false)") == "<|im_end|><|im_end|><|im_end|>");
}

BOOST_AUTO_TEST_CASE(what_is_too_much_or_unknown_is_a_400_that_names_it) {
    Bench bench(chain_engine());
    const auto refused = [&](wire::RequestKind kind, std::string body, std::string_view name) {
        const auto reply = bench.open(open_of(kind, std::move(body)));
        BOOST_TEST(std::get<wire::Head>(bench.next(*reply)).status == 400, name);
        const std::string error = std::get<wire::Data>(bench.next(*reply)).bytes;
        BOOST_TEST(error.find("\"param\":\"" + std::string(name) + "\"") != std::string::npos, error);
    };
    using wire::RequestKind;
    refused(RequestKind::tokenize, R"({"prompt":")" + std::string(app::builtin::text_bytes_max + 1, 'a') + "\"}",
            "prompt");
    refused(RequestKind::detokenize, R"({"tokens":[0,4294967295]})", "tokens[1]");
    std::string many = R"({"tokens":[0)";
    for (std::size_t i = 0; i < app::builtin::detokenize_tokens_max; ++i) many += ",0";
    refused(RequestKind::detokenize, many + "]}", "tokens");
    refused(RequestKind::completion, R"({"model":"null","prompt":"x","logit_bias":{"99999":1}})", "logit_bias");
    refused(RequestKind::completion, R"({"model":"null","prompt":[[65],[99999]]})", "prompt[1][0]");
    const std::string half(app::builtin::text_bytes_max / 2 + 1, 'a');
    refused(RequestKind::embedding, R"({"model":"null","input":[")" + half + "\",\"" + half + "\"]}", "input");
    refused(RequestKind::embedding, R"({"model":"null","input":["a",")" + std::string(4097, 'a') + "\"]}", "input[1]");
    BOOST_TEST(bench.stats->client_errors == 7U);
    // The null engine has no model to be curious about.
    Bench null;
    const auto reply = null.open(open_of(RequestKind::completion, R"({"model":"null","prompt":"x","logprobs":1})"));
    BOOST_TEST(std::get<wire::Head>(null.next(*reply)).status == 400);
    const auto vectors = null.open(open_of(RequestKind::embedding, R"({"model":"null","input":"x"})"));
    BOOST_TEST(std::get<wire::Head>(null.next(*vectors)).status == 400);
}

BOOST_AUTO_TEST_CASE(a_tenant_finds_its_own_kv_on_any_replica_and_nobody_elses_on_none) {
    const auto kv = std::make_shared<app::kv::KvService>(app::kv::KvServiceConfig{}, app::test::sealer, nullptr,
                                                         [] { return WallTime{}; });
    const auto scopes =
        std::make_shared<const app::kv::KvScopes>(app::test::crypto, app::test::secret, kv::CacheFingerprint{}, 32);
    const auto cached = [&](Bench& bench, const std::string& tenant) {
        wire::Open open = open_of(wire::RequestKind::completion,
                                  R"({"model":"null","max_tokens":2,"prompt":")" + std::string(200, 'x') + R"("})");
        open.tenant = tenant;
        const auto usage = boost::json::parse(body_of(bench, std::move(open))).at("usage");
        BOOST_TEST(usage.at("prompt_tokens").as_int64() > 64);
        return usage.at("prompt_tokens_details").at("cached_tokens").as_int64();
    };
    Bench one(chain_engine(), kv, scopes);
    BOOST_TEST(cached(one, "a") == 0);
    BOOST_TEST(cached(one, "b") == 0);
    BOOST_TEST(cached(one, "a") >= 64);
    Bench two(chain_engine(), kv, scopes);
    BOOST_TEST(cached(two, "c") == 0);
    BOOST_TEST(cached(two, "b") >= 64);
}

BOOST_AUTO_TEST_SUITE_END()
