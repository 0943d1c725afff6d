#include "kv/intake.h"

#include <boost/test/unit_test.hpp>

#include "keys.h"
#include "support/print.h"

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

BOOST_AUTO_TEST_CASE(an_offer_is_answered_once_missing_segments_are_stored) {
    MapHoldings holdings;
    holdings.put(item(1));
    Intake intake(me, holdings, {});
    intake.handle_offer({5}, other, offer({item(1), item(2)}), *everybody);
    BOOST_TEST(!intake.next_answer().has_value());
    const auto fetch = intake.next_fetch();
    BOOST_REQUIRE(fetch.has_value());
    BOOST_TEST(fetch->from == other);
    BOOST_TEST(fetch->items == std::vector{item(2)});
    BOOST_TEST(intake.bytes() == item(2).bytes);
    intake.fetch_ended(other);
    intake.finish(item(2), OfferOutcome::held);
    const auto answer = intake.next_answer();
    BOOST_REQUIRE(answer.has_value());
    BOOST_TEST(answer->id == OfferId{5});
    BOOST_TEST(answer->outcomes == std::vector(2, OfferOutcome::held));
    BOOST_TEST(intake.bytes() == 0U);
}

BOOST_AUTO_TEST_CASE(an_offer_of_held_segments_is_answered_at_once) {
    MapHoldings holdings;
    holdings.put(item(1));
    Intake intake(me, holdings, {});
    intake.handle_offer({1}, other, offer({item(1)}), *everybody);
    BOOST_TEST(outcomes(intake) == std::vector{OfferOutcome::held});
    BOOST_TEST(!intake.next_fetch().has_value());
}

BOOST_AUTO_TEST_CASE(a_segment_offered_by_several_peers_is_fetched_once) {
    MapHoldings holdings;
    Intake intake(me, holdings, {});
    intake.handle_offer({1}, other, offer({item(1)}), *everybody);
    intake.handle_offer({2}, third, offer({item(1)}), *everybody);
    BOOST_TEST(intake.next_fetch()->from == other);
    BOOST_TEST(!intake.next_fetch().has_value());
    intake.finish(item(1), OfferOutcome::held);
    BOOST_TEST(outcomes(intake) == std::vector{OfferOutcome::held});
    BOOST_TEST(outcomes(intake) == std::vector{OfferOutcome::held});
}

BOOST_AUTO_TEST_CASE(a_later_value_is_taken_and_an_earlier_one_is_not) {
    MapHoldings holdings;
    holdings.put({key(1), 10, 500});
    Intake intake(me, holdings, {});
    intake.handle_offer({1}, other, offer({{key(1), 9, 500}}), *everybody);
    BOOST_TEST(outcomes(intake) == std::vector{OfferOutcome::held});
    intake.handle_offer({2}, other, offer({{key(1), 11, 500}}), *everybody);
    BOOST_TEST(intake.next_fetch()->items[0].stamp == 11U);
}

BOOST_AUTO_TEST_CASE(a_peer_that_is_no_owner_accepts_only_moves) {
    MapHoldings holdings;
    Intake intake(me, holdings, {});
    const auto many = placement_of(9);
    std::uint64_t foreign = 0;
    while (many->owns(me, key(foreign))) ++foreign;
    intake.handle_offer({1}, other, offer({item(foreign)}), *many);
    BOOST_TEST(outcomes(intake) == std::vector{OfferOutcome::foreign});
    intake.handle_offer({2}, other, offer({item(foreign)}, QuestionKind::move), *many);
    BOOST_TEST(intake.next_fetch().has_value());
}

BOOST_AUTO_TEST_CASE(offers_beyond_the_bounds_are_answered_later) {
    MapHoldings holdings;
    IntakeConfig config;
    config.bytes = 2 * item(0).bytes;
    config.offers = 2;
    Intake intake(me, holdings, config);
    intake.handle_offer({1}, other, offer({item(1), item(2), item(3)}), *everybody);
    BOOST_TEST(intake.next_fetch()->items.size() == 2U);
    intake.handle_offer({2}, third, offer({item(1)}), *everybody);
    intake.handle_offer({3}, third, offer({item(4)}), *everybody);
    BOOST_TEST(outcomes(intake) == std::vector{OfferOutcome::later});
    intake.finish(item(1), OfferOutcome::refused);
    intake.finish(item(2), OfferOutcome::held);
    BOOST_TEST(outcomes(intake) == std::vector{OfferOutcome::refused});
    BOOST_TEST(outcomes(intake) == (std::vector{OfferOutcome::refused, OfferOutcome::held, OfferOutcome::later}));
}

BOOST_AUTO_TEST_CASE(fetches_from_one_peer_are_bounded) {
    MapHoldings holdings;
    IntakeConfig config;
    config.fetch_bytes = item(0).bytes;
    Intake intake(me, holdings, config);
    intake.handle_offer({1}, other, offer({item(1), item(2), item(3)}), *everybody);
    intake.handle_offer({2}, third, offer({item(4)}), *everybody);
    std::size_t from_other = 0;
    std::size_t from_third = 0;
    while (auto fetch = intake.next_fetch()) ++(fetch->from == other ? from_other : from_third);
    BOOST_TEST(from_other == config.fetches_per_peer);
    BOOST_TEST(from_third == 1U);
    intake.fetch_ended(other);
    BOOST_TEST(intake.next_fetch().has_value());
}

BOOST_AUTO_TEST_CASE(a_forgotten_offer_is_accepted_without_an_answer) {
    MapHoldings holdings;
    Intake intake(me, holdings, {});
    intake.handle_offer({1}, other, offer({item(1)}), *everybody);
    intake.forget({1});
    BOOST_TEST(intake.next_fetch().has_value());
    intake.finish(item(1), OfferOutcome::held);
    BOOST_TEST(!intake.next_answer().has_value());
    BOOST_TEST(intake.bytes() == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
