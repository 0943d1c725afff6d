#include "engine/logit_edits.h"

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "engine/errc.h"

using namespace exa::engine;

namespace {

Sampling penalties(float presence, float frequency) {
    Sampling sampling;
    sampling.presence_penalty = presence;
    sampling.frequency_penalty = frequency;
    return sampling;
}

std::vector<float> applied(const LogitEdits& edits, const std::vector<float>& logits) {
    std::vector<float> scratch;
    const auto edited = edits.apply(logits, {}, scratch);
    return {edited.begin(), edited.end()};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(logit_edits)

BOOST_AUTO_TEST_CASE(without_settings_the_logits_are_not_copied) {
    const std::vector<float> logits{1, 2};
    std::vector<float> scratch;
    LogitEdits edits(Sampling{});
    edits.add(1);
    BOOST_TEST(edits.apply(logits, {}, scratch).data() == logits.data());
}

BOOST_AUTO_TEST_CASE(presence_counts_once_and_frequency_every_time) {
    LogitEdits edits(penalties(0.5F, 0.25F));
    for (const TokenId token : {2U, 0U, 2U, 2U}) edits.add(token);
    BOOST_TEST(applied(edits, {1, 1, 1}) == (std::vector<float>{0.25F, 1, -0.25F}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(an_answer_that_resumes_has_the_penalties_of_its_tokens) {
    const std::vector<TokenId> answer{1, 1, 0};
    LogitEdits grown(penalties(1, -0.5F));
    for (const TokenId token : answer) grown.add(token);
    BOOST_TEST(applied(LogitEdits(penalties(1, -0.5F), {}, answer), {0, 0, 0}) == applied(grown, {0, 0, 0}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(repetition_makes_tokens_of_prompt_and_answer_less_likely_once) {
    Sampling sampling;
    sampling.repetition_penalty = 2;
    LogitEdits edits(sampling, std::vector<TokenId>{0, 1, 1}, std::vector<TokenId>{2});
    edits.add(2);
    BOOST_TEST(applied(edits, {4, -4, 1, 3}) == (std::vector<float>{2, -8, 0.5F, 3}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(presence_and_frequency_leave_the_prompt_alone) {
    Sampling sampling = penalties(1, 1);
    sampling.repetition_penalty = 2;
    BOOST_TEST(applied(LogitEdits(sampling, std::vector<TokenId>{0}, std::vector<TokenId>{1, 1}), {4, 8, 1}) ==
                   (std::vector<float>{2, 1, 1}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_banned_token_is_impossible) {
    const std::vector<float> logits{1, 2, 3};
    const std::vector<TokenId> banned{2, 9};
    std::vector<float> scratch;
    const auto edited = LogitEdits(Sampling{}).apply(logits, banned, scratch);
    BOOST_TEST(edited[1] == 2);
    BOOST_TEST(std::isinf(edited[2]));
}

BOOST_AUTO_TEST_CASE(biases_are_added_and_beside_them_penalties_hold) {
    Sampling sampling = penalties(2, 0);
    sampling.biases = {{0, -100}, {2, 1.5F}};
    BOOST_TEST(
        applied(LogitEdits(sampling, {}, std::vector<TokenId>{2}), {1, 1, 1}) == (std::vector<float>{-99, 1, 0.5F}),
        boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(tokens_beyond_the_logits_are_left_out) {
    Sampling sampling = penalties(2, 0);
    sampling.biases = {{9, 5}};
    BOOST_TEST(applied(LogitEdits(sampling, {}, std::vector<TokenId>{7}), {1, 1}) == (std::vector<float>{1, 1}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(settings_out_of_their_range_are_refused) {
    const auto refused = [](const Sampling& sampling) {
        const auto checked = check_edits(sampling, 10);
        return !checked && checked.error().code == errc::invalid_request;
    };
    BOOST_TEST(!refused(penalties(-2, 2)));
    BOOST_TEST(refused(penalties(2.1F, 0)));
    BOOST_TEST(refused(penalties(0, std::nanf(""))));
    for (const std::vector<LogitBias>& biases : std::initializer_list<std::vector<LogitBias>>{
             {{10, 1}}, {{3, 1}, {3, 2}}, {{3, 1}, {2, 1}}, {{1, 101}}, {{1, std::nanf("")}}}) {
        Sampling sampling;
        sampling.biases = biases;
        BOOST_TEST(refused(sampling));
    }
    for (const float penalty : {0.0F, -1.0F, 10.5F, std::nanf("")}) {
        Sampling repetition;
        repetition.repetition_penalty = penalty;
        BOOST_TEST(refused(repetition), penalty);
    }
    Sampling sampling;
    sampling.biases = {{0, 100}, {9, -100}};
    BOOST_TEST(!refused(sampling));
}

BOOST_AUTO_TEST_SUITE_END()
