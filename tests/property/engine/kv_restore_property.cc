// Whatever of a prompt's KV is brought in, whenever and however cut: answers are those of a replica that computes all
// of it, and no page stays behind.
#include <rapidcheck.h>
#include <boost/test/unit_test.hpp>
#include <map>

#include "base/rng.h"
#include "unit/engine/chain_model.h"
#include "unit/engine/kv_shelf.h"
#include "unit/model/tiny_llama.h"

using namespace exa;
using namespace exa::engine;
using namespace exa::engine::test;

namespace {

// Prompts that share prefixes of any length.
std::vector<GenerateRequest> random_requests(std::uint32_t vocab) {
    const auto random_tokens = [vocab](std::size_t count) {
        return *rc::gen::container<std::vector<TokenId>>(count, rc::gen::inRange<TokenId>(0, vocab));
    };
    const std::vector<TokenId> shared = random_tokens(150);
    std::vector<GenerateRequest> requests(*rc::gen::inRange<std::size_t>(1, 6));
    for (std::size_t i = 0; i < requests.size(); ++i) {
        GenerateRequest& request = requests[i];
        request.prompt.assign(shared.begin(), shared.begin() + *rc::gen::inRange<std::ptrdiff_t>(0, 151));
        const auto own = random_tokens(*rc::gen::inRange<std::size_t>(1, 40));
        request.prompt.insert(request.prompt.end(), own.begin(), own.end());
        request.max_tokens = *rc::gen::inRange(1U, 40U);
        request.sampling = {*rc::gen::element(0.0F, 0.8F), 1.0F, i};
        request.kv_scope = {test_root(1), 1};
    }
    return requests;
}

struct Run {
    std::map<RequestId, Outcome> outcomes;
    std::uint16_t kv_used_permille = 0;
};

// All at once with an owner that gives all it has; or, when there is `whim`, one by one with one that gives segments
// when it likes to, and not always all.
Run run_with(BatchReplica& replica, KvShelf& shelf, const std::vector<GenerateRequest>& requests,
             std::optional<Rng> whim = {}) {
    KvPort& port = *replica.kv_port();
    std::map<RestoreId, KvWant> open;
    std::map<RestoreId, std::size_t> given;
    Run run;
    std::size_t next = 0;
    TimePoint now{};
    while (true) {
        while (next < requests.size() && (!whim || whim->below(3) == 0)) {
            RC_ASSERT(replica.submit(now, {next}, requests[next]).has_value());
            ++next;
        }
        while (auto want = port.poll_want(now)) open.emplace(want->id, std::move(*want));
        for (auto at = open.begin(); at != open.end();) {
            const KvWant& want = at->second;
            bool goes_on = true;
            for (std::size_t some = whim ? whim->below(4) : SIZE_MAX; goes_on && some > 0; --some) {
                const std::size_t index = given[want.id]++;
                const auto found =
                    index < want.keys.size() ? shelf.segments.find(want.keys[index]) : shelf.segments.end();
                const bool gives = found != shelf.segments.end() && (!whim || whim->below(8) > 0);
                if (!gives) port.end_restore(now, want.id);
                goes_on = gives && port.give(now, want.id, found->second);
            }
            at = goes_on ? std::next(at) : open.erase(at);
        }
        const bool worked = replica.step(now);
        collect(replica, run.outcomes);
        shelf.take_finished(port);
        now += std::chrono::milliseconds(1);
        if (!worked && next == requests.size() && open.empty()) break;
    }
    run.kv_used_permille = replica.load().kv_used_permille;
    return run;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(kv_restore)

BOOST_AUTO_TEST_CASE(restored_answers_are_computed_answers_bit_by_bit) {
    BOOST_TEST(rc::check([] {
        model::TinyModelSpec spec;
        spec.seed = *rc::gen::inRange<std::uint64_t>(1, 1000);
        spec.heads = *rc::gen::element(2U, 4U);
        spec.kv_heads = spec.heads / *rc::gen::element(1U, 2U);
        spec.d = 32 * spec.heads;
        spec.ff = 64;
        spec.type = *rc::gen::element(model::TensorType::f32, model::TensorType::q8_0);
        const auto weights = model::test::tiny_weights(spec);
        const auto requests = random_requests(weights->shape().vocab);
        const std::uint32_t segment_tokens = page_tokens * *rc::gen::inRange(1U, 5U);
        const auto make = [&](std::uint32_t pages) {
            return BatchReplica(std::make_unique<model::LlamaModel>(weights, pages),
                                {.in_flight_limit = 8, .step_tokens = *rc::gen::inRange(1U, 90U)},
                                {.segment_tokens = segment_tokens, .crypto = &crypto});
        };
        KvShelf shelf;
        std::map<RequestId, Outcome> computed;
        for (std::size_t i = 0; i < requests.size(); ++i) {
            BatchReplica alone = make(16);
            KvShelf nothing;
            computed[{i}] = run_with(alone, nothing, {requests[i]}).outcomes.at({0});
            for (const auto& [key, payload] : nothing.segments) {
                const auto [at, fresh] = shelf.segments.emplace(key, payload);
                RC_ASSERT(fresh || at->second == payload);
            }
        }
        // Few pages: some runs must preempt.
        BatchReplica restoring = make(*rc::gen::inRange(15U, 60U));
        const Run run = run_with(restoring, shelf, requests, Rng(*rc::gen::arbitrary<std::uint64_t>()));
        for (const auto& [id, outcome] : computed) {
            RC_ASSERT(run.outcomes.at(id).tokens == outcome.tokens);
            RC_ASSERT(run.outcomes.at(id).finish == outcome.finish);
            RC_ASSERT(run.outcomes.at(id).contiguous);
        }
        RC_ASSERT(run.kv_used_permille == 0);
    }));
}

BOOST_AUTO_TEST_CASE(all_that_is_on_the_shelf_and_of_whole_segments_is_cached) {
    BOOST_TEST(rc::check([] {
        constexpr std::uint32_t vocab = 40;
        const auto requests = random_requests(vocab);
        const std::uint32_t segment_tokens = page_tokens * *rc::gen::inRange(1U, 5U);
        const BatchConfig config{.in_flight_limit = 8, .step_tokens = *rc::gen::inRange(1U, 90U)};
        const BatchKvConfig kv{.segment_tokens = segment_tokens, .crypto = &crypto};
        KvShelf shelf;
        BatchReplica first(std::make_unique<ChainModel>(vocab, 512, 120), config, kv);
        run_with(first, shelf, requests);
        for (const GenerateRequest& request : requests) {
            BatchReplica second(std::make_unique<ChainModel>(vocab, 512, 120), config, kv);
            const Outcome outcome = run_with(second, shelf, {request}).outcomes.at({0});
            RC_ASSERT(outcome.tokens == expected_answer(vocab, request));
            RC_ASSERT(outcome.cached_tokens == (request.prompt.size() - 1) / segment_tokens * segment_tokens);
        }
    }));
}

BOOST_AUTO_TEST_SUITE_END()
