#include <boost/test/unit_test.hpp>

#include "chain_model.h"
#include "kv_shelf.h"
#include "support/print.h"

using namespace exa;
using namespace exa::engine;
using namespace exa::engine::test;

namespace {

constexpr std::uint32_t vocab = 50;
constexpr std::uint32_t segment = 32;

struct Fixture {
    explicit Fixture(std::uint32_t pages = 64, BatchConfig config = {}) {
        auto owned = std::make_unique<ChainModel>(vocab, 512, pages);
        model = owned.get();
        replica = std::make_unique<BatchReplica>(std::move(owned), config,
                                                 BatchKvConfig{.segment_tokens = segment, .crypto = &crypto});
        port = replica->kv_port();
    }

    void submit(std::uint64_t id, GenerateRequest request, std::uint8_t tenant = 1) {
        request.kv_scope = {test_root(tenant), tenant};
        BOOST_TEST_REQUIRE(replica->submit({}, {id}, std::move(request)).has_value());
    }

    // Until nothing is left to do; `shelf` gets what is finished, and gives what it has.
    std::map<RequestId, Outcome> run_with(KvShelf& shelf) {
        std::map<RequestId, Outcome> outcomes;
        do {
            shelf.serve_all(*port);
            if (!replica->step({})) break;
            collect(*replica, outcomes);
            shelf.take_finished(*port);
        } while (true);
        collect(*replica, outcomes);
        return outcomes;
    }

    ChainModel* model = nullptr;
    std::unique_ptr<BatchReplica> replica;
    KvPort* port = nullptr;
};

// What a replica that computed it leaves of `request` on a shelf.
KvShelf shelf_of(const GenerateRequest& request, std::uint8_t tenant = 1) {
    Fixture f;
    KvShelf shelf;
    f.submit(1, request, tenant);
    f.run_with(shelf);
    return shelf;
}

std::uint32_t computed_tokens(const ChainModel& model) {
    std::uint32_t sum = 0;
    for (const auto& step : model.steps)
        for (const std::uint32_t tokens : step) sum += tokens;
    return sum;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(batch_replica_kv)

BOOST_AUTO_TEST_CASE(segments_of_prompt_and_answer_come_out_as_they_are_passed) {
    GenerateRequest request = make_request(70, 40, 1);
    const KvShelf shelf = shelf_of(request);
    std::vector<TokenId> tokens = request.prompt;
    const auto answer = expected_answer(vocab, request);
    tokens.insert(tokens.end(), answer.begin(), answer.end() - 1);
    const auto keys = kv::segment_chain(crypto, test_root(1), tokens, segment);
    BOOST_TEST(keys.size() == 3U);
    BOOST_TEST(shelf.segments.size() == keys.size());
    for (const auto& key : keys) BOOST_TEST(shelf.segments.contains(key));
}

BOOST_AUTO_TEST_CASE(a_restored_prompt_counts_as_cached_and_is_not_computed) {
    const GenerateRequest request = make_request(100, 10, 2);
    KvShelf shelf = shelf_of(request);
    Fixture f;
    f.submit(1, request);
    const Outcome outcome = f.run_with(shelf).at({1});
    BOOST_TEST(outcome.cached_tokens == 96U);
    BOOST_TEST(f.model->steps.front() == std::vector<std::uint32_t>{4}, boost::test_tools::per_element());
    BOOST_TEST(computed_tokens(*f.model) == 4U + 9U);
    BOOST_TEST(outcome.tokens == expected_answer(vocab, request), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_last_token_is_computed_even_when_its_segment_is_there) {
    const GenerateRequest request = make_request(96, 5, 3);
    KvShelf shelf = shelf_of(request);
    Fixture f;
    f.submit(1, request);
    const Outcome outcome = f.run_with(shelf).at({1});
    BOOST_TEST(outcome.cached_tokens == 64U);
    BOOST_TEST(outcome.tokens == expected_answer(vocab, request), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(restored_pages_are_found_by_others_without_a_wish) {
    GenerateRequest request = make_request(100, 2, 4);
    KvShelf shelf = shelf_of(request);
    Fixture f;
    f.submit(1, request);
    f.run_with(shelf);
    request.prompt.push_back(7);
    f.submit(2, request);
    BOOST_TEST(!f.port->poll_want({}).has_value());
    BOOST_TEST(f.run_with(shelf).at({2}).cached_tokens == 96U);
}

BOOST_AUTO_TEST_CASE(a_wish_begins_behind_the_pages_at_hand_and_leaves_them_alone) {
    GenerateRequest shorter = make_request(50, 2, 5);
    GenerateRequest longer = make_request(120, 6, 5);
    BOOST_TEST_REQUIRE(std::equal(shorter.prompt.begin(), shorter.prompt.end(), longer.prompt.begin()));
    KvShelf shelf = shelf_of(longer);
    Fixture f;
    KvShelf nothing;
    f.submit(1, shorter);
    f.run_with(nothing);
    // Three pages, 48 tokens, are here: the second segment is half there.
    f.submit(2, longer);
    const auto want = f.port->poll_want({});
    BOOST_TEST_REQUIRE(want.has_value());
    BOOST_TEST(want->keys.size() == 2U);
    BOOST_TEST(want->keys.front() == kv::segment_chain(crypto, test_root(1), longer.prompt, segment)[1]);
    shelf.serve(*f.port, *want);
    BOOST_TEST(f.model->imported == 48U);
    const Outcome outcome = f.run_with(shelf).at({2});
    BOOST_TEST(outcome.cached_tokens == 96U);
    BOOST_TEST(outcome.tokens == expected_answer(vocab, longer), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(others_go_on_while_one_waits) {
    Fixture f;
    f.submit(1, make_request(10, 30, 6));
    f.submit(2, make_request(200, 3, 7));
    const auto want = f.port->poll_want({});
    BOOST_TEST_REQUIRE(want.has_value());
    BOOST_TEST(want->request == RequestId{2});
    f.submit(3, make_request(20, 5, 8));
    std::map<RequestId, Outcome> outcomes;
    while (f.replica->step({})) collect(*f.replica, outcomes);
    collect(*f.replica, outcomes);
    BOOST_TEST(outcomes[{1}].tokens.size() == 30U);
    BOOST_TEST(outcomes[{3}].tokens.size() == 5U);
    BOOST_TEST(outcomes[{2}].tokens.empty());
    BOOST_TEST(f.replica->next_step() == want->deadline);
    f.port->end_restore({}, want->id);
    outcomes = run(*f.replica);
    BOOST_TEST(outcomes[{2}].tokens == expected_answer(vocab, make_request(200, 3, 7)),
               boost::test_tools::per_element());
    BOOST_TEST(outcomes[{2}].cached_tokens == 0U);
}

BOOST_AUTO_TEST_CASE(what_was_not_given_is_computed) {
    const GenerateRequest request = make_request(200, 10, 9);
    KvShelf shelf = shelf_of(request);
    for (std::size_t count = 0; count <= 6; ++count) {
        Fixture f;
        f.submit(1, request);
        const auto want = f.port->poll_want({});
        BOOST_TEST_REQUIRE(want.has_value());
        shelf.serve(*f.port, *want, count);
        const Outcome outcome = run(*f.replica).at({1});
        BOOST_TEST(outcome.cached_tokens == count * segment);
        BOOST_TEST(outcome.tokens == expected_answer(vocab, request), boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_CASE(at_its_deadline_a_wait_ends_and_what_comes_later_is_refused) {
    const GenerateRequest request = make_request(200, 10, 10);
    KvShelf shelf = shelf_of(request);
    Fixture f;
    f.submit(1, request);
    const auto want = f.port->poll_want({});
    BOOST_TEST_REQUIRE(want.has_value());
    BOOST_TEST(want->deadline == TimePoint{} + BatchKvConfig{}.restore_wait_max);
    BOOST_TEST(f.port->give({}, want->id, shelf.segments.at(want->keys[0])));
    BOOST_TEST(!f.replica->step(want->deadline - Duration(1)));
    BOOST_TEST(f.replica->step(want->deadline));
    BOOST_TEST(!f.port->give({}, want->id, shelf.segments.at(want->keys[1])));
    const Outcome outcome = run(*f.replica).at({1});
    BOOST_TEST(outcome.cached_tokens == segment);
    BOOST_TEST(outcome.tokens == expected_answer(vocab, request), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_payload_of_another_size_ends_the_wait_and_is_not_used) {
    const GenerateRequest request = make_request(100, 3, 11);
    Fixture f;
    f.submit(1, request);
    const auto want = f.port->poll_want({});
    BOOST_TEST_REQUIRE(want.has_value());
    BOOST_TEST(!f.port->give({}, want->id, Bytes(f.port->segment_bytes() - 1)));
    const Outcome outcome = run(*f.replica).at({1});
    BOOST_TEST(f.model->imported == 0U);
    BOOST_TEST(outcome.cached_tokens == 0U);
    BOOST_TEST(outcome.tokens == expected_answer(vocab, request), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_cancelled_wait_takes_nothing_and_leaves_no_page) {
    const GenerateRequest request = make_request(100, 3, 12);
    KvShelf shelf = shelf_of(request);
    Fixture f;
    f.submit(1, request);
    const auto want = f.port->poll_want({});
    BOOST_TEST_REQUIRE(want.has_value());
    BOOST_TEST(f.port->give({}, want->id, shelf.segments.at(want->keys[0])));
    f.replica->cancel({1});
    BOOST_TEST(!f.port->give({}, want->id, shelf.segments.at(want->keys[1])));
    f.port->end_restore({}, want->id);
    BOOST_TEST(!f.replica->step({}));
    BOOST_TEST(f.replica->load().kv_used_permille == 0);
    // Before it was polled.
    f.submit(2, make_request(100, 3, 13));
    BOOST_TEST(f.port->poll_want({}).has_value());
    f.submit(3, make_request(100, 3, 14));
    f.replica->step({});
    f.replica->cancel({3});
    BOOST_TEST(!f.port->poll_want({}).has_value());
}

BOOST_AUTO_TEST_CASE(one_that_waits_gives_its_pages_back_when_they_run_out_and_asks_again) {
    // Seven pages: the elder grows into four, the younger waits with four reserved.
    Fixture f(7, {.in_flight_limit = 4, .step_tokens = 64});
    const GenerateRequest elder = make_request(40, 20, 15);
    const GenerateRequest younger = make_request(60, 3, 16);
    KvShelf shelf = shelf_of(younger);
    KvShelf nothing;
    f.submit(1, elder);
    nothing.serve_all(*f.port);
    f.replica->step({});
    f.submit(2, younger);
    const auto want = f.port->poll_want({});
    BOOST_TEST_REQUIRE(want.has_value());
    std::map<RequestId, Outcome> outcomes;
    while (f.replica->load().preemptions == 0 && f.replica->step({})) collect(*f.replica, outcomes);
    BOOST_TEST(f.replica->load().preemptions == 1U);
    BOOST_TEST(!f.port->give({}, want->id, shelf.segments.at(want->keys[0])));
    bool asked_again = false;
    do {
        while (const auto again = f.port->poll_want({})) {
            asked_again = true;
            shelf.serve(*f.port, *again);
        }
        collect(*f.replica, outcomes);
    } while (f.replica->step({}));
    collect(*f.replica, outcomes);
    BOOST_TEST(asked_again);
    BOOST_TEST(outcomes.at({1}).tokens == expected_answer(vocab, elder), boost::test_tools::per_element());
    BOOST_TEST(outcomes.at({2}).tokens == expected_answer(vocab, younger), boost::test_tools::per_element());
    BOOST_TEST(outcomes.at({2}).cached_tokens == segment);
}

BOOST_AUTO_TEST_CASE(a_resumed_answer_is_restored_like_a_prompt) {
    const GenerateRequest request = make_request(60, 50, 17);
    KvShelf shelf = shelf_of(request);
    const auto whole = expected_answer(vocab, request);
    GenerateRequest rest = request;
    rest.prompt.insert(rest.prompt.end(), whole.begin(), whole.begin() + 40);
    rest.resumed_tokens = 40;
    Fixture f;
    f.submit(1, rest);
    const Outcome outcome = f.run_with(shelf).at({1});
    BOOST_TEST(outcome.cached_tokens == 96U);
    BOOST_TEST(outcome.first_offset == 40U);
    BOOST_TEST(outcome.tokens == std::vector<TokenId>(whole.begin() + 40, whole.end()),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(without_a_root_or_to_embed_nothing_is_wanted_and_nothing_comes_out) {
    Fixture f;
    const GenerateRequest plain = make_request(100, 3, 18);
    BOOST_TEST_REQUIRE(f.replica->submit({}, {1}, plain).has_value());
    GenerateRequest embeds = make_request(100, 0, 19);
    embeds.embeds = true;
    f.submit(2, embeds);
    BOOST_TEST(!f.port->poll_want({}).has_value());
    while (f.replica->step({})) BOOST_TEST(!f.port->poll_finished().has_value());
}

BOOST_AUTO_TEST_CASE(another_scopes_pages_and_segments_are_not_found) {
    const GenerateRequest request = make_request(100, 3, 20);
    KvShelf shelf = shelf_of(request, 1);
    Fixture f;
    f.submit(1, request, 2);
    BOOST_TEST(f.run_with(shelf).at({1}).cached_tokens == 0U);
    f.submit(2, request, 3);
    BOOST_TEST(f.run_with(shelf).at({2}).cached_tokens == 0U);
    f.submit(3, request, 2);
    BOOST_TEST(f.run_with(shelf).at({3}).cached_tokens == 96U);
    BOOST_TEST_REQUIRE(f.replica->submit({}, {4}, request).has_value());
    BOOST_TEST(f.run_with(shelf).at({4}).cached_tokens == 0U);
    BOOST_TEST_REQUIRE(f.replica->submit({}, {5}, request).has_value());
    BOOST_TEST(f.run_with(shelf).at({5}).cached_tokens == 96U);
}

BOOST_AUTO_TEST_CASE(finished_segments_that_nobody_polled_are_given_up) {
    Fixture f;
    f.submit(1, make_request(100, 30, 21));
    f.port->poll_want({});
    f.port->end_restore({}, {1});
    std::size_t steps = 0;
    while (f.replica->step({})) ++steps;
    BOOST_TEST(steps > 20U);
    BOOST_TEST(!f.port->poll_finished().has_value());
}

BOOST_AUTO_TEST_CASE(what_is_sooner_computed_is_not_wanted) {
    Fixture f(64, {.in_flight_limit = 8, .step_tokens = 128});
    f.submit(1, make_request(100, 1, 22));
    f.port->end_restore({}, f.port->poll_want({})->id);
    f.replica->step({});
    f.port->note_step(std::chrono::milliseconds(100));
    f.submit(2, make_request(100, 1, 23));
    const auto want = f.port->poll_want({});
    BOOST_TEST_REQUIRE(want.has_value());
    BOOST_TEST(want->deadline - TimePoint{} == std::chrono::milliseconds(96));
    // Nothing came until the deadline: as slow as computing it.
    f.replica->step(want->deadline);
    f.port->note_step(std::chrono::milliseconds(96));
    f.submit(3, make_request(100, 1, 24));
    BOOST_TEST(!f.port->poll_want(want->deadline).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
