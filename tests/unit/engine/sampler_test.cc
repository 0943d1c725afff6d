#include "engine/sampler.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <map>

using namespace exa::engine;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
const float not_a_number = std::nanf("");

std::map<TokenId, int> draw_many(const std::vector<float>& logits, Sampling sampling, int count) {
    Sampler sampler;
    std::map<TokenId, int> counts;
    for (int i = 0; i < count; ++i) ++counts[*sampler.sample(logits, sampling, static_cast<std::uint64_t>(i))];
    return counts;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(sampler)

BOOST_AUTO_TEST_CASE(temperature_zero_takes_the_largest_and_the_lower_id_of_equals) {
    Sampler sampler;
    const Sampling zero{0, 1, 0};
    BOOST_TEST(*sampler.sample(std::vector<float>{1, 5, 3}, zero, 0) == 1U);
    BOOST_TEST(*sampler.sample(std::vector<float>{5, 1, 5}, zero, 0) == 0U);
    BOOST_TEST(*greedy(std::vector<float>{-3, -2, -2}) == 1U);
}

BOOST_AUTO_TEST_CASE(what_is_no_number_is_never_chosen) {
    Sampler sampler;
    const std::vector<float> logits{not_a_number, 1, not_a_number, 2, -infinity};
    BOOST_TEST(*sampler.sample(logits, {0, 1, 0}, 0) == 3U);
    for (const auto& [token, count] : draw_many(logits, {1.5F, 1, 3}, 2000))
        BOOST_TEST((token == 1 || token == 3), token);
    for (const auto& [token, count] : draw_many(logits, {1.5F, 0.99F, 3}, 2000))
        BOOST_TEST((token == 1 || token == 3), token);
    BOOST_TEST(*sampler.sample(std::vector<float>{1, infinity, infinity}, {1, 1, 0}, 0) == 1U);
}

BOOST_AUTO_TEST_CASE(nothing_comes_of_logits_without_any_number) {
    Sampler sampler;
    for (const float temperature : {0.0F, 1.0F}) {
        BOOST_TEST(!sampler.sample(std::vector<float>{not_a_number, not_a_number}, {temperature, 1, 0}, 0).has_value());
        BOOST_TEST(!sampler.sample(std::vector<float>{-infinity, not_a_number}, {temperature, 0.5F, 0}, 0).has_value());
        BOOST_TEST(!sampler.sample(std::vector<float>{}, {temperature, 1, 0}, 0).has_value());
    }
}

BOOST_AUTO_TEST_CASE(frequencies_follow_the_softmax) {
    constexpr int draws = 40'000;
    const std::vector<float> logits{0.0F, 1.0F, 2.0F, -1.0F};
    for (const float temperature : {0.5F, 1.0F, 2.0F}) {
        double total = 0;
        for (const float logit : logits) total += std::exp(static_cast<double>(logit / temperature));
        std::map<TokenId, int> counts = draw_many(logits, {temperature, 1, 11}, draws);
        for (TokenId i = 0; i < 4; ++i) {
            const double p = std::exp(static_cast<double>(logits[i] / temperature)) / total;
            BOOST_TEST(std::fabs(counts[i] - draws * p) < 5 * std::sqrt(draws * p * (1 - p)),
                       "temperature " << temperature << " token " << i << ": " << counts[i] << " of " << draws * p);
        }
    }
}

BOOST_AUTO_TEST_CASE(top_p_keeps_the_fewest_tokens_that_reach_it) {
    // Probabilities 0.5, 0.25, 0.125, 0.125.
    const std::vector<float> logits{std::log(0.125F), std::log(0.5F), std::log(0.125F), std::log(0.25F)};
    const auto kept = [&](float top_p) {
        std::vector<TokenId> tokens;
        for (const auto& [token, count] : draw_many(logits, {1, top_p, 5}, 3000)) tokens.push_back(token);
        return tokens;
    };
    BOOST_TEST(kept(0.4F) == (std::vector<TokenId>{1}), boost::test_tools::per_element());
    BOOST_TEST(kept(0.6F) == (std::vector<TokenId>{1, 3}), boost::test_tools::per_element());
    // Of the two equal ones the lower id comes first.
    BOOST_TEST(kept(0.8F) == (std::vector<TokenId>{0, 1, 3}), boost::test_tools::per_element());
    BOOST_TEST(kept(1.0F) == (std::vector<TokenId>{0, 1, 2, 3}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_nucleus_of_nothing_keeps_the_likeliest) {
    const std::vector<float> logits{1, 3, 3, 2};
    for (const auto& [token, count] : draw_many(logits, {2, 0, 5}, 1000)) BOOST_TEST(token == 1U);
}

BOOST_AUTO_TEST_CASE(top_k_keeps_that_many_of_the_likeliest_and_the_lower_id_of_equals) {
    // Probabilities 0.5, 0.25, 0.125, 0.125.
    const std::vector<float> logits{std::log(0.125F), std::log(0.5F), std::log(0.125F), std::log(0.25F)};
    const auto kept = [&](std::uint32_t top_k, float top_p) {
        Sampling sampling{1, top_p, 5};
        sampling.top_k = top_k;
        std::vector<TokenId> tokens;
        for (const auto& [token, count] : draw_many(logits, sampling, 3000)) tokens.push_back(token);
        return tokens;
    };
    BOOST_TEST(kept(1, 1) == (std::vector<TokenId>{1}), boost::test_tools::per_element());
    BOOST_TEST(kept(2, 1) == (std::vector<TokenId>{1, 3}), boost::test_tools::per_element());
    BOOST_TEST(kept(3, 1) == (std::vector<TokenId>{0, 1, 3}), boost::test_tools::per_element());
    BOOST_TEST(kept(4, 1) == (std::vector<TokenId>{0, 1, 2, 3}), boost::test_tools::per_element());
    BOOST_TEST(kept(100, 1) == (std::vector<TokenId>{0, 1, 2, 3}), boost::test_tools::per_element());
    // The nucleus is of what is left: 0.5 of 0.75 is below 0.7 but above 0.6.
    BOOST_TEST(kept(2, 0.7F) == (std::vector<TokenId>{1, 3}), boost::test_tools::per_element());
    BOOST_TEST(kept(2, 0.6F) == (std::vector<TokenId>{1}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_is_left_of_top_k_is_renormalised) {
    constexpr int draws = 20'000;
    const std::vector<float> logits{std::log(0.5F), std::log(0.25F), std::log(0.25F)};
    Sampling sampling{1, 1, 5};
    sampling.top_k = 2;
    std::map<TokenId, int> counts = draw_many(logits, sampling, draws);
    BOOST_TEST(std::fabs(counts[0] - draws * 2 / 3.0) < 5 * std::sqrt(draws * 2 / 9.0));
}

BOOST_AUTO_TEST_CASE(min_p_is_a_share_of_the_likeliest_after_temperature) {
    // Probabilities 0.5, 0.25, 0.125, 0.125: shares 1, 0.5, 0.25, 0.25; at temperature 0.5 their squares.
    const std::vector<float> logits{std::log(0.125F), std::log(0.5F), std::log(0.125F), std::log(0.25F)};
    const auto kept = [&](float min_p, float temperature) {
        Sampling sampling{temperature, 1, 5};
        sampling.min_p = min_p;
        std::vector<TokenId> tokens;
        for (const auto& [token, count] : draw_many(logits, sampling, 3000)) tokens.push_back(token);
        return tokens;
    };
    BOOST_TEST(kept(1, 1) == (std::vector<TokenId>{1}), boost::test_tools::per_element());
    BOOST_TEST(kept(0.4F, 1) == (std::vector<TokenId>{1, 3}), boost::test_tools::per_element());
    BOOST_TEST(kept(0.2F, 1) == (std::vector<TokenId>{0, 1, 2, 3}), boost::test_tools::per_element());
    BOOST_TEST(kept(0.2F, 0.5F) == (std::vector<TokenId>{1, 3}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_kept_nucleus_is_renormalised) {
    constexpr int draws = 20'000;
    const std::vector<float> logits{std::log(0.5F), std::log(0.25F), std::log(0.25F)};
    std::map<TokenId, int> counts = draw_many(logits, {1, 0.7F, 5}, draws);
    BOOST_TEST(counts.size() == 2U);
    BOOST_TEST(std::fabs(counts[0] - draws * 2 / 3.0) < 5 * std::sqrt(draws * 2 / 9.0));
}

BOOST_AUTO_TEST_CASE(the_draw_depends_on_seed_and_position_alone) {
    Sampler one;
    Sampler other;
    std::vector<float> logits(500);
    for (std::size_t i = 0; i < logits.size(); ++i) logits[i] = static_cast<float>(i % 17) * 0.1F;
    std::vector<TokenId> forward;
    std::vector<TokenId> backward;
    std::vector<TokenId> other_seed;
    for (std::uint64_t p = 0; p < 50; ++p) forward.push_back(*one.sample(logits, {1, 0.9F, 42}, p));
    for (std::uint64_t p = 50; p-- > 0;) backward.insert(backward.begin(), *other.sample(logits, {1, 0.9F, 42}, p));
    for (std::uint64_t p = 0; p < 50; ++p) other_seed.push_back(*one.sample(logits, {1, 0.9F, 43}, p));
    BOOST_TEST(forward == backward, boost::test_tools::per_element());
    BOOST_TEST(forward != other_seed);
}

BOOST_AUTO_TEST_CASE(extreme_settings_still_give_a_token) {
    Sampler sampler;
    const std::vector<float> logits{3e38F, -3e38F, 0};
    BOOST_TEST(*sampler.sample(logits, {1e-30F, 1e-30F, 1}, 1) == 0U);
    BOOST_TEST(*sampler.sample(logits, {2, 1e-30F, 1}, 1) == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
