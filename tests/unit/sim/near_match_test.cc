#include "sim/scenarios/near_match.h"

#include <array>
#include <boost/test/unit_test.hpp>
#include <string_view>

using namespace exa::sim;

namespace {

constexpr auto known = std::to_array<std::string_view>({"loss", "latency_min_us", "latency_max_us", "bandwidth"});

}  // namespace

BOOST_AUTO_TEST_SUITE(near_match)

BOOST_AUTO_TEST_CASE(a_letter_left_out_added_changed_or_swapped_is_near) {
    for (const std::string_view wrong : {"los", "losss", "lass", "lsos"})
        BOOST_TEST(did_you_mean(wrong, known) == ", did you mean 'loss'?");
    BOOST_TEST(did_you_mean("bandwith", known) == ", did you mean 'bandwidth'?");
}

BOOST_AUTO_TEST_CASE(the_nearest_wins_and_of_equals_the_first) {
    BOOST_TEST(did_you_mean("latency_mx_us", known) == ", did you mean 'latency_max_us'?");
    BOOST_TEST(did_you_mean("latency_us", known) == ", did you mean 'latency_min_us'?");
}

BOOST_AUTO_TEST_CASE(what_is_far_from_everything_gets_no_advice) {
    BOOST_TEST(did_you_mean("nonsense", known).empty());
    BOOST_TEST(did_you_mean("", known).empty());
    BOOST_TEST(did_you_mean("loss", {}).empty());
}

BOOST_AUTO_TEST_SUITE_END()
