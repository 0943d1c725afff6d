#include "engine/batch_replica.h"

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "chain_model.h"
#include "engine/logprobs.h"
#include "support/print.h"

using namespace exa::engine;
using namespace exa::engine::test;

namespace {

constexpr std::uint32_t vocab = 50;

struct Fixture {
    explicit Fixture(std::uint32_t pages = 64, BatchConfig config = {}, std::uint32_t context = 512) {
        auto owned = std::make_unique<ChainModel>(vocab, context, pages);
        model = owned.get();
        replica = std::make_unique<BatchReplica>(std::move(owned), config);
    }

    void submit(std::uint64_t id, GenerateRequest request) {
        const auto taken = replica->submit({}, {id}, std::move(request));
        BOOST_TEST_REQUIRE(taken.has_value());
    }

    exa::Error refusal(std::uint64_t id, GenerateRequest request) {
        const auto taken = replica->submit({}, {id}, std::move(request));
        BOOST_TEST_REQUIRE(!taken.has_value());
        return taken.error();
    }

    ChainModel* model = nullptr;
    std::unique_ptr<BatchReplica> replica;
};

bool mentions(const exa::Error& error, const char* text) {
    return error.detail.find(text) != std::string::npos;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(batch_replica)

BOOST_AUTO_TEST_CASE(answers_follow_the_model_token_by_token) {
    Fixture f;
    const GenerateRequest request = make_request(40, 25, 1);
    f.submit(1, request);
    const Outcome outcome = run(*f.replica).at({1});
    BOOST_TEST(outcome.tokens == expected_answer(vocab, request), boost::test_tools::per_element());
    BOOST_TEST(outcome.finish == FinishReason::length);
    BOOST_TEST(outcome.contiguous);
    BOOST_TEST(outcome.first_offset == 0U);
}

BOOST_AUTO_TEST_CASE(batch_mates_change_no_answer) {
    Fixture f(64, {.in_flight_limit = 8, .step_tokens = 24});
    std::map<std::uint64_t, GenerateRequest> requests;
    for (std::uint64_t id = 1; id <= 6; ++id) {
        requests[id] = make_request(static_cast<std::uint32_t>(7 + 13 * id), static_cast<std::uint32_t>(10 + id), id);
        requests[id].sampling = {id % 2 == 0 ? 0.8F : 0.0F, 0.9F, id};
        f.submit(id, requests[id]);
    }
    const auto outcomes = run(*f.replica);
    for (const auto& [id, request] : requests) {
        BOOST_TEST(outcomes.at({id}).tokens == expected_answer(vocab, request), boost::test_tools::per_element());
        BOOST_TEST(outcomes.at({id}).contiguous);
    }
}

BOOST_AUTO_TEST_CASE(a_stop_token_ends_the_answer_and_is_its_last_token) {
    Fixture f;
    GenerateRequest request = make_request(5, 40, 2);
    const std::vector<TokenId> whole = expected_answer(vocab, request);
    request.stop_tokens = {whole[6]};
    f.submit(1, request);
    const Outcome outcome = run(*f.replica).at({1});
    BOOST_TEST(outcome.finish == FinishReason::stop);
    BOOST_TEST(outcome.tokens == expected_answer(vocab, request), boost::test_tools::per_element());
    BOOST_TEST(outcome.tokens.back() == whole[6]);
}

BOOST_AUTO_TEST_CASE(no_stop_token_comes_before_the_least_length) {
    GenerateRequest request = make_request(5, 40, 2);
    const std::vector<TokenId> free = expected_answer(vocab, request);
    request.stop_tokens = {free[2]};
    request.min_tokens = 3;
    Fixture f;
    f.submit(1, request);
    const Outcome outcome = run(*f.replica).at({1});
    BOOST_TEST(outcome.tokens == expected_answer(vocab, request), boost::test_tools::per_element());
    BOOST_TEST(outcome.tokens[2] != free[2]);
    BOOST_TEST(outcome.tokens.size() > 3U);
}

// Everything that bends a choice, together, cut anywhere.
BOOST_AUTO_TEST_CASE(a_resumed_answer_has_the_same_samplers_wherever_it_was_cut) {
    GenerateRequest request = make_request(20, 30, 3);
    request.sampling = {.temperature = 1.5F,
                        .top_p = 0.9F,
                        .seed = 77,
                        .top_k = 20,
                        .min_p = 0.2F,
                        .repetition_penalty = 1.3F,
                        .presence_penalty = 0.5F,
                        .frequency_penalty = 0.25F};
    request.min_tokens = 12;
    request.stop_tokens = {7, 8, 9};
    const std::vector<TokenId> whole = expected_answer(vocab, request);
    BOOST_TEST_REQUIRE(whole.size() >= 12U);
    for (std::uint32_t cut = 0; cut < whole.size(); ++cut) {
        GenerateRequest rest = request;
        rest.prompt.insert(rest.prompt.end(), whole.begin(), whole.begin() + cut);
        rest.resumed_tokens = cut;
        Fixture f;
        f.submit(1, rest);
        BOOST_TEST(run(*f.replica).at({1}).tokens == std::vector<TokenId>(whole.begin() + cut, whole.end()),
                   boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_CASE(logprobs_of_the_prompt_come_with_the_first_token_however_it_is_cut) {
    GenerateRequest request = make_request(70, 3, 4);
    request.top_logprobs = 2;
    request.prompt_logprobs = true;
    std::vector<TokenLogprobs> expected;
    std::uint64_t chain = 0;
    for (std::size_t i = 0; i + 1 < request.prompt.size(); ++i) {
        chain = extend(chain, request.prompt[i]);
        std::vector<float> logits(vocab);
        for (TokenId v = 0; v < vocab; ++v) logits[v] = chain_logit(chain, v);
        expected.push_back(logprobs_of(logits, request.prompt[i + 1], 2));
    }
    for (const std::uint32_t step_tokens : {16U, 17U, 200U}) {
        Fixture f(64, {.in_flight_limit = 8, .step_tokens = step_tokens});
        // Its pages would have been shared.
        f.submit(1, make_request(70, 3, 4));
        run(*f.replica);
        f.submit(2, request);
        std::vector<TokenEvent> events;
        while (f.replica->step({}))
            while (auto event = f.replica->poll_event()) events.push_back(*event);
        BOOST_TEST_REQUIRE(events.size() == 3U);
        BOOST_TEST_REQUIRE(events[0].prompt_logprobs != nullptr);
        BOOST_TEST((*events[0].prompt_logprobs == expected));
        BOOST_TEST(events[0].cached_tokens == 0U);
        BOOST_TEST(events[1].prompt_logprobs == nullptr);
    }
    request.top_logprobs.reset();
    BOOST_TEST(mentions(Fixture().refusal(1, request), "prompt_logprobs"));
}

BOOST_AUTO_TEST_CASE(a_resumed_answer_goes_on_where_it_was_cut) {
    GenerateRequest request = make_request(20, 30, 3);
    request.sampling = {1.0F, 0.95F, 77};
    const std::vector<TokenId> whole = expected_answer(vocab, request);
    GenerateRequest rest = request;
    rest.prompt.insert(rest.prompt.end(), whole.begin(), whole.begin() + 11);
    rest.resumed_tokens = 11;
    Fixture f;
    f.submit(1, rest);
    const Outcome outcome = run(*f.replica).at({1});
    BOOST_TEST(outcome.first_offset == 11U);
    BOOST_TEST(outcome.tokens == std::vector<TokenId>(whole.begin() + 11, whole.end()),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_second_request_shares_the_full_pages_of_the_first) {
    Fixture f;
    GenerateRequest request = make_request(50, 4, 4);
    f.submit(1, request);
    BOOST_TEST(run(*f.replica).at({1}).cached_tokens == 0U);
    f.model->steps.clear();
    request.prompt.push_back(3);
    f.submit(2, request);
    const Outcome outcome = run(*f.replica).at({2});
    BOOST_TEST(outcome.cached_tokens == 48U);
    BOOST_TEST(f.model->steps.front() == std::vector<std::uint32_t>{3}, boost::test_tools::per_element());
    BOOST_TEST(outcome.tokens == expected_answer(vocab, request), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_last_prompt_token_is_computed_even_when_all_pages_are_cached) {
    Fixture f;
    const GenerateRequest request = make_request(32, 2, 5);
    f.submit(1, request);
    run(*f.replica);
    f.submit(2, request);
    const Outcome outcome = run(*f.replica).at({2});
    BOOST_TEST(outcome.cached_tokens == 16U);
    BOOST_TEST(outcome.tokens == expected_answer(vocab, request), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_long_prompt_does_not_hold_up_tokens_of_others) {
    Fixture f(64, {.in_flight_limit = 4, .step_tokens = 20});
    f.submit(1, make_request(4, 50, 6));
    f.replica->step({});
    f.submit(2, make_request(200, 5, 7));
    std::map<RequestId, Outcome> outcomes;
    collect(*f.replica, outcomes);
    for (int i = 0; i < 5; ++i) {
        const std::size_t before = outcomes[{1}].tokens.size();
        f.replica->step({});
        collect(*f.replica, outcomes);
        BOOST_TEST(outcomes[{1}].tokens.size() == before + 1);
        BOOST_TEST(f.model->steps.back() == (std::vector<std::uint32_t>{1, 19}), boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_CASE(the_in_flight_limit_answers_busy_until_a_request_ends) {
    Fixture f(64, {.in_flight_limit = 2, .step_tokens = 64});
    f.submit(1, make_request(5, 3, 8));
    f.submit(2, make_request(5, 3, 9));
    BOOST_TEST(f.refusal(3, make_request(5, 3, 10)).code == errc::busy);
    run(*f.replica);
    f.submit(3, make_request(5, 3, 10));
    BOOST_TEST(f.replica->load().in_flight == 1U);
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_the_context_is_refused) {
    Fixture f(64, {}, 100);
    BOOST_TEST(f.refusal(1, make_request(90, 11, 1)).code == errc::prompt_too_long);
    f.submit(2, make_request(90, 10, 1));
    BOOST_TEST(run(*f.replica).at({2}).tokens.size() == 10U);
    // The pages can be the tighter bound.
    Fixture small(3, {}, 512);
    BOOST_TEST(small.replica->context_tokens() == 48U);
    BOOST_TEST(small.refusal(1, make_request(40, 9, 1)).code == errc::prompt_too_long);
    small.submit(2, make_request(40, 8, 1));
    BOOST_TEST(run(*small.replica).at({2}).tokens.size() == 8U);
}

BOOST_AUTO_TEST_CASE(fields_out_of_range_are_named) {
    Fixture f;
    const auto detail = [&](auto change) {
        GenerateRequest request = make_request(5, 5, 1);
        change(request);
        const exa::Error refused = f.refusal(9, std::move(request));
        BOOST_TEST(refused.code == errc::invalid_request);
        return refused;
    };
    BOOST_TEST(mentions(detail([](auto& r) { r.prompt.clear(); }), "prompt"));
    BOOST_TEST(mentions(detail([](auto& r) { r.prompt[2] = vocab; }), "token 50"));
    BOOST_TEST(mentions(detail([](auto& r) { r.max_tokens = 0; }), "max_tokens"));
    BOOST_TEST(mentions(detail([](auto& r) { r.resumed_tokens = 5; }), "resumed_tokens"));
    BOOST_TEST(mentions(detail([](auto& r) { r.resumed_tokens = 6, r.max_tokens = 9; }), "resumed_tokens"));
    BOOST_TEST(mentions(detail([](auto& r) { r.sampling.temperature = -0.1F; }), "temperature"));
    BOOST_TEST(mentions(detail([](auto& r) { r.sampling.temperature = std::nanf(""); }), "temperature"));
    BOOST_TEST(mentions(detail([](auto& r) { r.sampling.top_p = -0.1F; }), "top_p"));
    BOOST_TEST(mentions(detail([](auto& r) { r.sampling.min_p = 1.1F; }), "min_p"));
    BOOST_TEST(mentions(detail([](auto& r) { r.sampling.repetition_penalty = 0; }), "repetition_penalty"));
    BOOST_TEST(mentions(detail([](auto& r) { r.sampling.top_p = 1.1F; }), "top_p"));
    BOOST_TEST(f.replica->load().in_flight == 0U);
    f.submit(1, make_request(5, 5, 1));
    BOOST_TEST(f.refusal(1, make_request(5, 5, 1)).code == errc::invalid_request);
}

BOOST_AUTO_TEST_CASE(a_cancel_frees_the_pages_before_the_next_step) {
    Fixture f(64, {.in_flight_limit = 4, .step_tokens = 32});
    f.submit(1, make_request(100, 10, 1));
    f.submit(2, make_request(100, 10, 2));
    f.replica->step({});
    BOOST_TEST(f.replica->load().kv_used_permille > 0);
    BOOST_TEST(f.replica->load().queued_tokens == 168U);
    f.replica->cancel({1});
    f.replica->cancel({2});
    f.replica->cancel({3});
    const ReplicaLoad load = f.replica->load();
    BOOST_TEST(load.kv_used_permille == 0);
    BOOST_TEST(load.in_flight == 0U);
    BOOST_TEST(load.queued_tokens == 0U);
    BOOST_TEST(!f.replica->step({}));
    const auto outcomes = run(*f.replica);
    BOOST_TEST(outcomes.size() == 2U);
    BOOST_TEST(outcomes.at({1}).finish == FinishReason::cancelled);
    BOOST_TEST(outcomes.at({1}).tokens.empty());
}

BOOST_AUTO_TEST_CASE(when_pages_run_out_the_youngest_waits_and_loses_nothing) {
    // Each needs 4 pages in the end; 6 are there.
    Fixture f(6, {.in_flight_limit = 4, .step_tokens = 64});
    std::map<std::uint64_t, GenerateRequest> requests;
    for (std::uint64_t id = 1; id <= 3; ++id) {
        requests[id] = make_request(20, 40, 20 + id);
        f.submit(id, requests[id]);
    }
    std::vector<std::uint64_t> order;
    std::map<RequestId, Outcome> outcomes;
    while (f.replica->step({})) {
        collect(*f.replica, outcomes);
        BOOST_TEST(f.replica->load().kv_used_permille <= 1000);
        for (const auto& [id, outcome] : outcomes)
            if (outcome.finish && std::ranges::count(order, id.value) == 0) order.push_back(id.value);
    }
    BOOST_TEST(order.size() == 3U);
    BOOST_TEST(order.front() == 1U);
    for (const auto& [id, request] : requests) {
        BOOST_TEST(outcomes.at({id}).tokens == expected_answer(vocab, request), boost::test_tools::per_element());
        BOOST_TEST(outcomes.at({id}).contiguous);
    }
    BOOST_TEST(f.replica->load().kv_used_permille == 0);
}

BOOST_AUTO_TEST_CASE(a_failing_model_fails_the_requests_of_its_step) {
    Fixture f;
    f.submit(1, make_request(5, 5, 1));
    f.replica->step({});
    f.model->fail = true;
    f.submit(2, make_request(5, 5, 2));
    const auto outcomes = run(*f.replica);
    BOOST_TEST(outcomes.at({1}).finish == FinishReason::failed);
    BOOST_TEST(outcomes.at({2}).finish == FinishReason::failed);
    BOOST_TEST(outcomes.at({1}).tokens.size() == 1U);
    BOOST_TEST(f.replica->load().kv_used_permille == 0);
}

BOOST_AUTO_TEST_CASE(logits_that_are_no_numbers_fail_the_request) {
    Fixture f;
    f.model->nan = true;
    f.submit(1, make_request(5, 5, 1));
    BOOST_TEST(run(*f.replica).at({1}).finish == FinishReason::failed);
    f.model->nan = false;
    f.submit(2, make_request(5, 5, 1));
    BOOST_TEST(run(*f.replica).at({2}).finish == FinishReason::length);
}

BOOST_AUTO_TEST_CASE(an_idle_replica_has_nothing_to_do) {
    Fixture f;
    BOOST_TEST(!f.replica->step({}));
    BOOST_TEST(!f.replica->poll_event().has_value());
    BOOST_TEST(f.replica->load().in_flight == 0U);
}

BOOST_AUTO_TEST_CASE(penalties_and_biases_go_on_where_an_answer_was_cut) {
    GenerateRequest request = make_request(20, 30, 3);
    request.sampling = {.temperature = 0.9F, .seed = 5, .presence_penalty = 1.5F, .frequency_penalty = 0.5F};
    request.sampling.biases = {{7, -100}, {9, 3}};
    const std::vector<TokenId> whole = expected_answer(vocab, request);
    BOOST_TEST(std::ranges::count(whole, 7U) == 0);
    Fixture f;
    f.submit(1, request);
    GenerateRequest rest = request;
    rest.prompt.insert(rest.prompt.end(), whole.begin(), whole.begin() + 11);
    rest.resumed_tokens = 11;
    f.submit(2, rest);
    const auto outcomes = run(*f.replica);
    BOOST_TEST(outcomes.at({1}).tokens == whole, boost::test_tools::per_element());
    BOOST_TEST(outcomes.at({2}).tokens == std::vector<TokenId>(whole.begin() + 11, whole.end()),
               boost::test_tools::per_element());
    request.sampling.presence_penalty = request.sampling.frequency_penalty = 0;
    BOOST_TEST(expected_answer(vocab, request) != whole);
}

BOOST_AUTO_TEST_CASE(logprobs_are_the_models_own_whatever_is_edited) {
    Fixture f;
    GenerateRequest request = make_request(5, 3, 4);
    request.top_logprobs = 2;
    const std::vector<TokenId> plain = expected_answer(vocab, request);
    request.sampling.biases = {{plain[0], -100}};
    f.submit(1, request);
    f.submit(2, make_request(5, 3, 4));
    bool first = true;
    while (f.replica->step({})) {
        while (const auto event = f.replica->poll_event()) {
            BOOST_TEST((event->logprobs != nullptr) == (event->request == RequestId{1}));
            if (!event->logprobs) continue;
            BOOST_TEST(event->logprobs->top.size() == 2U);
            BOOST_TEST(event->logprobs->logprob <= event->logprobs->top[0].logprob);
            if (first) {
                BOOST_TEST(event->logprobs->top[0].token == plain[0]);
                BOOST_TEST(event->token != plain[0]);
            }
            first = false;
        }
    }
    BOOST_TEST(!first);
}

BOOST_AUTO_TEST_CASE(an_embedding_is_the_unit_mean_of_hidden_states_however_it_is_cut) {
    const GenerateRequest prompt = make_request(50, 1, 8);
    std::vector<double> sums(8, 0.0);
    std::uint64_t chain = 0;
    for (const TokenId token : prompt.prompt) {
        chain = extend(chain, token);
        for (std::uint32_t n = 0; n < 8; ++n) sums[n] += static_cast<double>(chain_hidden(chain, n));
    }
    double squares = 0;
    for (const double sum : sums) squares += sum * sum;
    Embedding expected;
    for (const double sum : sums) expected.push_back(static_cast<float>(sum / std::sqrt(squares)));

    for (const std::uint32_t step_tokens : {1U, 20U, 90U}) {
        Fixture f(12, {.in_flight_limit = 8, .step_tokens = step_tokens});
        GenerateRequest request = prompt;
        request.max_tokens = 0;
        request.embeds = true;
        // One generates from the same prompt, so that pages are there to share; pages run out too.
        f.submit(1, make_request(50, 90, 8));
        f.submit(2, request);
        f.submit(3, make_request(20, 90, 9));
        std::vector<Embedding> found;
        while (f.replica->step({})) {
            while (const auto event = f.replica->poll_event()) {
                if (event->request != RequestId{2}) continue;
                BOOST_TEST(!event->has_token);
                BOOST_TEST(event->finish == FinishReason::stop);
                found.push_back(*event->embedding);
            }
        }
        BOOST_TEST_REQUIRE(found.size() == 1U);
        BOOST_TEST(found[0] == expected, boost::test_tools::per_element());
        BOOST_TEST(f.replica->load().kv_used_permille == 0);
    }
}

BOOST_AUTO_TEST_CASE(what_embeds_has_no_answer_and_an_answer_needs_tokens) {
    Fixture f;
    GenerateRequest request = make_request(5, 3, 1);
    request.embeds = true;
    BOOST_TEST(mentions(f.refusal(1, request), "max_tokens"));
    request.max_tokens = 0;
    request.resumed_tokens = 1;
    BOOST_TEST(mentions(f.refusal(1, request), "resumed_tokens"));
    request.embeds = false;
    BOOST_TEST(mentions(f.refusal(1, request), "max_tokens"));
    GenerateRequest curious = make_request(5, 3, 1);
    curious.top_logprobs = 21;
    BOOST_TEST(mentions(f.refusal(1, curious), "top_logprobs"));
    curious.top_logprobs = 20;
    curious.sampling.biases = {{vocab, 1}};
    BOOST_TEST(mentions(f.refusal(1, curious), "biases"));
}

BOOST_AUTO_TEST_SUITE_END()
