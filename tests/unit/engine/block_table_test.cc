#include "engine/block_table.h"

#include <boost/test/unit_test.hpp>
#include <numeric>
#include <utility>

using namespace exa::engine;

namespace {

std::vector<TokenId> tokens(std::size_t count) {
    std::vector<TokenId> all(count);
    std::iota(all.begin(), all.end(), 100U);
    return all;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(block_table)

BOOST_AUTO_TEST_CASE(reserve_takes_pages_for_whole_sixteens) {
    PagePool pool(4);
    BlockTable table(pool);
    BOOST_TEST(table.reserve(1));
    BOOST_TEST(table.pages().size() == 1U);
    BOOST_TEST(table.reserve(16));
    BOOST_TEST(table.pages().size() == 1U);
    BOOST_TEST(table.reserve(17));
    BOOST_TEST(table.pages().size() == 2U);
}

BOOST_AUTO_TEST_CASE(a_reserve_that_fails_takes_nothing) {
    PagePool pool(4);
    BlockTable table(pool);
    BOOST_TEST(table.reserve(20));
    BOOST_TEST(!table.reserve(65));
    BOOST_TEST(table.pages().size() == 2U);
    BOOST_TEST(pool.used() == 2U);
}

BOOST_AUTO_TEST_CASE(a_prefix_is_shared_up_to_the_last_token_but_one) {
    PagePool pool(8);
    const std::vector<TokenId> all = tokens(64);
    BlockTable first(pool);
    BOOST_TEST(first.reserve(64));
    first.publish(all);
    BlockTable second(pool);
    BOOST_TEST(second.adopt_prefix(all) == 48U);
    BOOST_TEST(second.pages()[2] == first.pages()[2]);
    BOOST_TEST(pool.used() == 4U);
    BlockTable third(pool);
    BOOST_TEST(third.adopt_prefix(tokens(65)) == 64U);
    BlockTable short_one(pool);
    BOOST_TEST(short_one.adopt_prefix(tokens(16)) == 0U);
    std::vector<TokenId> other = all;
    other[20] = 1;
    BlockTable branched(pool);
    BOOST_TEST(branched.adopt_prefix(other) == 16U);
}

BOOST_AUTO_TEST_CASE(publishing_as_tokens_come_equals_publishing_at_once) {
    PagePool pool(8);
    const std::vector<TokenId> all = tokens(50);
    BlockTable first(pool);
    BOOST_TEST(first.reserve(50));
    for (std::size_t n = 1; n <= all.size(); ++n) first.publish(std::span(all).first(n));
    BlockTable second(pool);
    BOOST_TEST(second.adopt_prefix(all) == 48U);
}

BOOST_AUTO_TEST_CASE(an_adopted_prefix_is_continued_with_pages_of_its_own) {
    PagePool pool(8);
    const std::vector<TokenId> all = tokens(80);
    BlockTable first(pool);
    BOOST_TEST(first.reserve(40));
    first.publish(std::span(all).first(40));
    BlockTable second(pool);
    BOOST_TEST(second.adopt_prefix(all) == 32U);
    BOOST_TEST(second.reserve(80));
    second.publish(all);
    BlockTable third(pool);
    BOOST_TEST(third.adopt_prefix(tokens(81)) == 80U);
    BOOST_TEST(third.pages()[2] == second.pages()[2]);
}

BOOST_AUTO_TEST_CASE(the_tail_of_a_prefix_is_evicted_before_its_head) {
    PagePool pool(3);
    const std::vector<TokenId> all = tokens(48);
    {
        BlockTable table(pool);
        BOOST_TEST(table.reserve(48));
        table.publish(all);
    }
    BOOST_TEST(pool.used() == 0U);
    BOOST_TEST(pool.allocate().has_value());
    BlockTable table(pool);
    BOOST_TEST(table.adopt_prefix(tokens(49)) == 32U);
}

BOOST_AUTO_TEST_CASE(moving_hands_the_references_on) {
    PagePool pool(4);
    BlockTable first(pool);
    BOOST_TEST(first.reserve(32));
    BlockTable second(std::move(first));
    BOOST_TEST(second.pages().size() == 2U);
    BOOST_TEST(pool.used() == 2U);
    BlockTable third(pool);
    BOOST_TEST(third.reserve(16));
    third = std::move(second);
    BOOST_TEST(pool.used() == 2U);
    third.clear();
    BOOST_TEST(pool.used() == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
