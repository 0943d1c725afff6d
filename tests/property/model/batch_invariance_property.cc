// A token's logits are the same bits however a sequence is cut into calls, whoever else is in them, and whoever
// computed its prefix. On random tiny models of every weight type and of several shapes.
#include <rapidcheck.h>
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstring>
#include <map>
#include <memory>

#include "base/rng.h"
#include "engine/batch_replica.h"
#include "unit/model/tiny_llama.h"

using namespace exa::model;
using namespace exa::model::test;
using exa::engine::PageId;
using exa::engine::Slice;
using exa::engine::TokenId;

namespace {

TinyModelSpec random_spec() {
    TinyModelSpec spec;
    spec.seed = *rc::gen::inRange<std::uint64_t>(1, 1000);
    spec.type = *rc::gen::element(TensorType::f32, TensorType::f16, TensorType::bf16, TensorType::q8_0,
                                  TensorType::q4_0, TensorType::q4_1, TensorType::q5_0, TensorType::q5_1);
    spec.heads = *rc::gen::element(2U, 4U, 6U);
    spec.kv_heads = spec.heads / *rc::gen::element(1U, 2U);
    spec.d = spec.heads * *rc::gen::element(16U, 32U, 48U);
    if (spec.d % 32 != 0) spec.d *= 2;
    return spec;
}

std::vector<TokenId> random_tokens(std::size_t count, std::uint32_t vocab) {
    return *rc::gen::container<std::vector<TokenId>>(count, rc::gen::inRange<TokenId>(0, vocab));
}

// Random cuts of [0, size) into runs of 1 .. 40.
std::vector<std::size_t> random_cuts(std::size_t size) {
    std::vector<std::size_t> counts;
    for (std::size_t at = 0; at < size; at += counts.back())
        counts.push_back(std::min<std::size_t>(*rc::gen::inRange<std::size_t>(1, 41), size - at));
    return counts;
}

void assert_same_bits(std::span<const float> found, std::span<const float> expected) {
    RC_ASSERT(found.size() == expected.size());
    RC_ASSERT(std::memcmp(found.data(), expected.data(), expected.size_bytes()) == 0);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(batch_invariance)

BOOST_AUTO_TEST_CASE(chunks_of_any_size_give_the_bits_of_one_call) {
    BOOST_TEST(rc::check([] {
        LlamaModel model(tiny_weights(random_spec()), 16);
        const std::vector<TokenId> tokens = random_tokens(*rc::gen::inRange<std::size_t>(1, 90), model.vocab_size());
        const std::vector<float> expected = one_shot(model, tokens, page_run(0, tokens.size()));
        const std::vector<PageId> pages = page_run(8, tokens.size());
        std::vector<float> logits(model.vocab_size());
        std::size_t at = 0;
        for (const std::size_t count : random_cuts(tokens.size())) {
            const Slice slice{std::span(tokens).subspan(at, count), static_cast<std::uint32_t>(at), pages, true};
            RC_ASSERT(model.forward({&slice, 1}, logits).has_value());
            at += count;
        }
        assert_same_bits(logits, expected);
    }));
}

BOOST_AUTO_TEST_CASE(decoding_token_by_token_gives_the_bits_of_prefill_at_every_position) {
    BOOST_TEST(rc::check([] {
        LlamaModel model(tiny_weights(random_spec()), 8);
        const std::vector<TokenId> tokens = random_tokens(*rc::gen::inRange<std::size_t>(1, 40), model.vocab_size());
        const std::vector<PageId> pages = page_run(4, tokens.size());
        std::vector<float> logits(model.vocab_size());
        for (std::size_t i = 0; i < tokens.size(); ++i) {
            const Slice slice{std::span(tokens).subspan(i, 1), static_cast<std::uint32_t>(i), pages, true};
            RC_ASSERT(model.forward({&slice, 1}, logits).has_value());
            const std::vector<TokenId> prefix(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(i) + 1);
            assert_same_bits(logits, one_shot(model, prefix, page_run(0, prefix.size())));
        }
    }));
}

BOOST_AUTO_TEST_CASE(batch_mates_and_a_prefix_of_somebody_else_change_no_bit) {
    BOOST_TEST(rc::check([] {
        LlamaModel model(tiny_weights(random_spec()), 24);
        const std::vector<TokenId> tokens = random_tokens(*rc::gen::inRange<std::size_t>(18, 60), model.vocab_size());
        const std::vector<TokenId> mate = random_tokens(*rc::gen::inRange<std::size_t>(1, 60), model.vocab_size());
        const std::vector<float> expected = one_shot(model, tokens, page_run(0, tokens.size()));
        const std::vector<float> mate_expected = one_shot(model, mate, page_run(4, mate.size()));

        // Somebody else's sequence with the same first pages, in a batch; then ours goes on behind them.
        std::vector<TokenId> other = tokens;
        other.back() = (other.back() + 1) % model.vocab_size();
        const std::vector<PageId> other_pages = page_run(8, other.size());
        const std::vector<PageId> mate_pages = page_run(12, mate.size());
        const Slice first[] = {{other, 0, other_pages, true}, {mate, 0, mate_pages, true}};
        std::vector<float> logits(2 * model.vocab_size());
        RC_ASSERT(model.forward(first, logits).has_value());
        assert_same_bits(std::span(logits).subspan(model.vocab_size()), mate_expected);

        const auto shared = static_cast<std::uint32_t>((tokens.size() - 1) / 16 * 16);
        std::vector<PageId> pages(other_pages.begin(), other_pages.begin() + shared / 16);
        for (PageId fresh = 20; pages.size() * 16 < tokens.size(); ++fresh) pages.push_back(fresh);
        const std::vector<PageId> mate_again = page_run(16, mate.size());
        const Slice second[] = {{mate, 0, mate_again, true}, {std::span(tokens).subspan(shared), shared, pages, true}};
        RC_ASSERT(model.forward(second, logits).has_value());
        assert_same_bits(std::span(logits).first(model.vocab_size()), mate_expected);
        assert_same_bits(std::span(logits).subspan(model.vocab_size()), expected);
    }));
}

BOOST_AUTO_TEST_CASE(answers_are_the_same_with_any_batch_mates_and_step_size) {
    BOOST_TEST(rc::check([] {
        using namespace exa::engine;
        const auto weights = tiny_weights(random_spec());
        std::vector<GenerateRequest> requests;
        const auto count = *rc::gen::inRange<std::size_t>(1, 5);
        const std::vector<TokenId> shared =
            random_tokens(*rc::gen::inRange<std::size_t>(0, 40), weights->shape().vocab);
        for (std::size_t i = 0; i < count; ++i) {
            GenerateRequest request;
            request.prompt = shared;
            const auto own = random_tokens(*rc::gen::inRange<std::size_t>(1, 20), weights->shape().vocab);
            request.prompt.insert(request.prompt.end(), own.begin(), own.end());
            request.max_tokens = *rc::gen::inRange(1U, 12U);
            request.sampling = {*rc::gen::element(0.0F, 0.7F, 1.3F), *rc::gen::element(0.8F, 1.0F), i};
            requests.push_back(std::move(request));
        }
        std::map<RequestId, std::vector<TokenId>> alone;
        for (std::size_t i = 0; i < count; ++i) {
            BatchReplica replica(std::make_unique<LlamaModel>(weights, 8), {});
            RC_ASSERT(replica.submit({}, {i}, requests[i]).has_value());
            while (replica.step({})) {
            }
            while (const auto event = replica.poll_event()) alone[event->request].push_back(event->token);
        }
        const BatchConfig config{.in_flight_limit = 5, .step_tokens = *rc::gen::inRange(1U, 70U)};
        // Few pages: some runs must preempt.
        BatchReplica replica(std::make_unique<LlamaModel>(weights, *rc::gen::inRange(6U, 20U)), config);
        std::map<RequestId, std::vector<TokenId>> together;
        for (std::size_t i = 0; i < count; ++i) {
            RC_ASSERT(replica.submit({}, {i}, requests[i]).has_value());
            for (int steps = *rc::gen::inRange(0, 3); steps > 0; --steps) replica.step({});
        }
        while (replica.step({})) {
        }
        while (const auto event = replica.poll_event()) together[event->request].push_back(event->token);
        RC_ASSERT(together == alone);
        RC_ASSERT(replica.load().kv_used_permille == 0);
    }));
}

BOOST_AUTO_TEST_SUITE_END()
