// Whatever order submissions, cancels and steps come in: every request ends once, every answer is the model's, and no
// page stays behind.
#include <rapidcheck.h>
#include <boost/test/unit_test.hpp>
#include <map>
#include <set>

#include "unit/engine/chain_model.h"

using namespace exa::engine;
using namespace exa::engine::test;

namespace {

constexpr std::uint32_t vocab = 40;

GenerateRequest random_request() {
    // Few seeds, so that prompts share prefixes.
    GenerateRequest request = make_request(*rc::gen::inRange(1U, 80U), *rc::gen::inRange(1U, 30U),
                                           *rc::gen::inRange<std::uint64_t>(0, 3), vocab);
    request.sampling = {*rc::gen::element(0.0F, 0.9F), *rc::gen::element(0.7F, 1.0F), *rc::gen::inRange(0U, 9U)};
    request.sampling.presence_penalty = *rc::gen::element(0.0F, 0.0F, 1.5F);
    request.sampling.frequency_penalty = *rc::gen::element(0.0F, -0.5F);
    if (*rc::gen::inRange(0, 4) == 0) request.stop_tokens = {*rc::gen::inRange(0U, vocab)};
    return request;
}

bool starts_with(const std::vector<TokenId>& whole, const std::vector<TokenId>& head) {
    return head.size() <= whole.size() && std::equal(head.begin(), head.end(), whole.begin());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(scheduling)

BOOST_AUTO_TEST_CASE(every_request_ends_once_with_the_models_answer) {
    BOOST_TEST(rc::check([] {
        const BatchConfig config{.in_flight_limit = *rc::gen::inRange(1U, 9U),
                                 .step_tokens = *rc::gen::inRange(1U, 90U)};
        BatchReplica replica(std::make_unique<ChainModel>(vocab, 512, *rc::gen::inRange(8U, 40U)), config);
        std::map<RequestId, GenerateRequest> taken;
        std::set<RequestId> cancelled;
        std::map<RequestId, Outcome> outcomes;
        const int actions = *rc::gen::inRange(1, 60);
        for (int i = 0; i < actions; ++i) {
            const int kind = *rc::gen::inRange(0, 8);
            if (kind < 3) {
                const RequestId id{static_cast<std::uint64_t>(i)};
                GenerateRequest request = random_request();
                if (replica.submit({}, id, request)) taken.emplace(id, std::move(request));
            } else if (kind == 3 && !taken.empty()) {
                const RequestId id = std::next(taken.begin(), *rc::gen::inRange<long>(0, std::ssize(taken)))->first;
                replica.cancel(id);
                collect(replica, outcomes);
                if (outcomes[id].finish == FinishReason::cancelled) cancelled.insert(id);
            } else {
                replica.step({});
            }
            RC_ASSERT(replica.load().in_flight <= config.in_flight_limit);
        }
        while (replica.step({})) collect(replica, outcomes);
        collect(replica, outcomes);

        for (const auto& [id, request] : taken) {
            const Outcome& outcome = outcomes.at(id);
            const std::vector<TokenId> expected = expected_answer(vocab, request);
            RC_ASSERT(outcome.contiguous);
            RC_ASSERT(outcome.finish.has_value());
            if (cancelled.contains(id)) {
                RC_ASSERT(starts_with(expected, outcome.tokens));
            } else {
                RC_ASSERT(outcome.tokens == expected);
                RC_ASSERT(outcome.finish == FinishReason::length || outcome.finish == FinishReason::stop);
            }
        }
        RC_ASSERT(outcomes.size() == taken.size());
        RC_ASSERT(replica.load().kv_used_permille == 0);
        RC_ASSERT(replica.load().in_flight == 0U);
        RC_ASSERT(replica.load().queued_tokens == 0U);
    }));
}

BOOST_AUTO_TEST_SUITE_END()
