#include "kv/intake.h"

#include <boost/test/unit_test.hpp>

#include "keys.h"

using namespace exa;
using namespace exa::kv;
using namespace exa::kv::samples;

namespace {

const PeerId me{1};
const PeerId other{2};
const PeerId third{3};

Question offer(std::vector<Item> items, QuestionKind kind = QuestionKind::offer) {
    return {kind, std::move(items)};
}

// Two peers and two copies: everybody owns everything.
const std::shared_ptr<const Placement> everybody = placement_of(2);

std::vector<OfferOutcome> outcomes(Intake& intake) {
    const auto answer = intake.next_answer();
    return answer ? answer->outcomes : std::vector<OfferOutcome>{};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(intake)

BOOST_AUTO_TEST_CASE(what_is_lacking_is_fetched_and_the_offer_answered_when_it_is_stored) {
    MapHoldings holdings;
    holdings.put(item(1));
    Intake intake(me, holdings, {});
    intake.offered({5}, other, offer({item(1), item(2)}), *everybody);
    BOOST_TEST(!intake.next_answer().has_value());
    const auto fetch = intake.next_fetch();
    BOOST_REQUIRE(fetch.has_value());
    BOOST_TEST((fetch->from == other));
    BOOST_TEST((fetch->items == std::vector{item(2)}));
    BOOST_TEST(intake.bytes() == item(2).bytes);
    intake.fetch_ended(other);
    intake.settle(item(2), OfferOutcome::held);
    const auto answer = intake.next_answer();
    BOOST_REQUIRE(answer.has_value());
    BOOST_TEST((answer->id == OfferId{5}));
    BOOST_TEST((answer->outcomes == std::vector(2, OfferOutcome::held)));
    BOOST_TEST(intake.bytes() == 0U);
}

BOOST_AUTO_TEST_CASE(an_offer_of_what_is_all_here_is_answered_at_once) {
    MapHoldings holdings;
    holdings.put(item(1));
    Intake intake(me, holdings, {});
    intake.offered({1}, other, offer({item(1)}), *everybody);
    BOOST_TEST((outcomes(intake) == std::vector{OfferOutcome::held}));
    BOOST_TEST(!intake.next_fetch().has_value());
}

BOOST_AUTO_TEST_CASE(a_segment_that_several_offer_is_fetched_once) {
    MapHoldings holdings;
    Intake intake(me, holdings, {});
    intake.offered({1}, other, offer({item(1)}), *everybody);
    intake.offered({2}, third, offer({item(1)}), *everybody);
    BOOST_TEST((intake.next_fetch()->from == other));
    BOOST_TEST(!intake.next_fetch().has_value());
    intake.settle(item(1), OfferOutcome::held);
    BOOST_TEST((outcomes(intake) == std::vector{OfferOutcome::held}));
    BOOST_TEST((outcomes(intake) == std::vector{OfferOutcome::held}));
}

BOOST_AUTO_TEST_CASE(a_later_value_is_taken_and_an_earlier_one_is_not) {
    MapHoldings holdings;
    holdings.put({key(1), 10, 500});
    Intake intake(me, holdings, {});
    intake.offered({1}, other, offer({{key(1), 9, 500}}), *everybody);
    BOOST_TEST((outcomes(intake) == std::vector{OfferOutcome::held}));
    intake.offered({2}, other, offer({{key(1), 11, 500}}), *everybody);
    BOOST_TEST(intake.next_fetch()->items[0].stamp == 11U);
}

BOOST_AUTO_TEST_CASE(who_is_no_owner_says_so_unless_it_is_a_move) {
    MapHoldings holdings;
    Intake intake(me, holdings, {});
    const auto many = placement_of(9);
    std::uint64_t foreign = 0;
    while (many->owns(me, key(foreign))) ++foreign;
    intake.offered({1}, other, offer({item(foreign)}), *many);
    BOOST_TEST((outcomes(intake) == std::vector{OfferOutcome::foreign}));
    intake.offered({2}, other, offer({item(foreign)}, QuestionKind::move), *many);
    BOOST_TEST(intake.next_fetch().has_value());
}

BOOST_AUTO_TEST_CASE(beyond_its_bounds_it_says_later) {
    MapHoldings holdings;
    IntakeConfig config;
    config.bytes = 2 * item(0).bytes;
    config.offers = 2;
    Intake intake(me, holdings, config);
    intake.offered({1}, other, offer({item(1), item(2), item(3)}), *everybody);
    BOOST_TEST(intake.next_fetch()->items.size() == 2U);
    intake.offered({2}, third, offer({item(1)}), *everybody);
    intake.offered({3}, third, offer({item(4)}), *everybody);
    BOOST_TEST((outcomes(intake) == std::vector{OfferOutcome::later}));
    intake.settle(item(1), OfferOutcome::refused);
    intake.settle(item(2), OfferOutcome::held);
    BOOST_TEST((outcomes(intake) == std::vector{OfferOutcome::refused}));
    BOOST_TEST((outcomes(intake) == std::vector{OfferOutcome::refused, OfferOutcome::held, OfferOutcome::later}));
}

BOOST_AUTO_TEST_CASE(a_peer_has_so_many_fetches_open_and_no_more) {
    MapHoldings holdings;
    IntakeConfig config;
    config.fetch_bytes = item(0).bytes;
    Intake intake(me, holdings, config);
    intake.offered({1}, other, offer({item(1), item(2), item(3)}), *everybody);
    intake.offered({2}, third, offer({item(4)}), *everybody);
    std::size_t from_other = 0;
    std::size_t from_third = 0;
    while (auto fetch = intake.next_fetch()) ++(fetch->from == other ? from_other : from_third);
    BOOST_TEST(from_other == config.fetches_per_peer);
    BOOST_TEST(from_third == 1U);
    intake.fetch_ended(other);
    BOOST_TEST(intake.next_fetch().has_value());
}

BOOST_AUTO_TEST_CASE(an_offer_that_nobody_waits_for_is_taken_and_not_answered) {
    MapHoldings holdings;
    Intake intake(me, holdings, {});
    intake.offered({1}, other, offer({item(1)}), *everybody);
    intake.forget({1});
    BOOST_TEST(intake.next_fetch().has_value());
    intake.settle(item(1), OfferOutcome::held);
    BOOST_TEST(!intake.next_answer().has_value());
    BOOST_TEST(intake.bytes() == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
