#include "engine/logprobs.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>

using namespace exa::engine;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

std::vector<TokenId> top_of(const std::vector<float>& logits, std::uint32_t count) {
    std::vector<TokenId> tokens;
    for (const TokenLogprob& one : logprobs_of(logits, 0, count).top) tokens.push_back(one.token);
    return tokens;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(logprobs)

BOOST_AUTO_TEST_CASE(probabilities_sum_to_one) {
    const std::vector<float> logits{3, -1, 0.5F, 80, 79};
    double total = 0;
    for (const TokenLogprob& one : logprobs_of(logits, 0, 5).top) total += std::exp(static_cast<double>(one.logprob));
    BOOST_TEST(std::fabs(total - 1) < 1e-6);
    BOOST_TEST(std::fabs(logprobs_of(logits, 4, 0).logprob - std::log(1 / (1 + std::exp(1.0F)))) < 1e-5F);
}

BOOST_AUTO_TEST_CASE(the_likeliest_come_first_and_the_lower_id_of_equals) {
    BOOST_TEST(top_of({1, 5, 3, 5, 2}, 3) == (std::vector<TokenId>{1, 3, 2}), boost::test_tools::per_element());
    BOOST_TEST(top_of({2, 2, 2, 2}, 2) == (std::vector<TokenId>{0, 1}), boost::test_tools::per_element());
    BOOST_TEST(top_of({1, 2}, 20) == (std::vector<TokenId>{1, 0}), boost::test_tools::per_element());
    BOOST_TEST(top_of({1, 2}, 0).empty());
}

BOOST_AUTO_TEST_CASE(the_chosen_token_has_its_own_figure_also_outside_of_the_top) {
    const TokenLogprobs found = logprobs_of(std::vector<float>{0, std::log(3.0F)}, 0, 1);
    BOOST_TEST(std::fabs(found.logprob - std::log(0.25F)) < 1e-6F);
    BOOST_TEST(found.top.size() == 1U);
    BOOST_TEST(std::fabs(found.top[0].logprob - std::log(0.75F)) < 1e-6F);
}

BOOST_AUTO_TEST_CASE(what_is_no_number_is_no_candidate_and_infinities_are_certain) {
    const std::vector<float> logits{std::nanf(""), 1, -infinity};
    BOOST_TEST(logprobs_of(logits, 1, 3).logprob == 0.0F);
    BOOST_TEST(logprobs_of(logits, 1, 3).top.size() == 2U);
    BOOST_TEST(logprobs_of(logits, 2, 0).logprob == -infinity);
    BOOST_TEST(std::fabs(logprobs_of(std::vector<float>{infinity, infinity, 3}, 0, 0).logprob - std::log(0.5F)) <
               1e-6F);
}

BOOST_AUTO_TEST_SUITE_END()
