#include "kv/spread.h"

#include <boost/test/unit_test.hpp>

#include "keys.h"
#include "support/print.h"

using namespace exa;
using namespace exa::kv;
using namespace exa::kv::samples;
using std::chrono::seconds;

namespace {

const TimePoint start{seconds{100}};
const PeerId one{1};
const PeerId two{2};
// Two peers and two copies: both own everything.
const std::shared_ptr<const Placement> everybody = placement_of(2);

std::vector<OfferOutcome> all(std::size_t count, OfferOutcome outcome) {
    return std::vector(count, outcome);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(spread)

BOOST_AUTO_TEST_CASE(items_for_one_peer_share_a_question) {
    Spread spread({});
    for (std::uint64_t n = 0; n < 5; ++n) spread.offer(one, item(n));
    const auto offer = spread.next(start, *everybody);
    BOOST_REQUIRE(offer.has_value());
    BOOST_TEST(offer->to == one);
    BOOST_TEST(offer->question.kind == QuestionKind::offer);
    BOOST_TEST(offer->question.items.size() == 5U);
    spread.offer(one, item(9));
    BOOST_TEST(!spread.next(start, *everybody).has_value());
    BOOST_TEST(spread.answered(start, one, all(5, OfferOutcome::held)).size() == 5U);
    BOOST_TEST(spread.next(start, *everybody)->question.items.size() == 1U);
    spread.answered(start, one, all(1, OfferOutcome::held));
    BOOST_TEST(spread.is_idle());
}

BOOST_AUTO_TEST_CASE(peers_take_turns) {
    Spread spread({});
    for (std::uint64_t n = 0; n < 3; ++n) {
        spread.offer(one, item(n));
        spread.offer(two, item(n));
    }
    BOOST_TEST(spread.next(start, *everybody)->to == one);
    BOOST_TEST(spread.next(start, *everybody)->to == two);
    spread.offer(one, item(7));
    spread.offer(two, item(7));
    spread.answered(start, one, all(3, OfferOutcome::held));
    BOOST_TEST(spread.next(start, *everybody)->to == one);
    spread.answered(start, two, all(3, OfferOutcome::held));
    spread.answered(start, one, all(1, OfferOutcome::held));
    spread.offer(one, item(8));
    BOOST_TEST(spread.next(start, *everybody)->to == two);
}

BOOST_AUTO_TEST_CASE(nothing_is_queued_twice) {
    Spread spread({});
    spread.offer(one, item(1));
    spread.offer(one, item(1));
    BOOST_TEST(spread.next(start, *everybody)->question.items.size() == 1U);
    spread.offer(one, item(1));
    BOOST_TEST(spread.waiting() == 1U);
    spread.answered(start, one, all(1, OfferOutcome::held));
    spread.offer(one, item(1));
    BOOST_TEST(spread.waiting() == 1U);
}

BOOST_AUTO_TEST_CASE(a_failure_is_retried_at_longer_intervals_and_not_for_good) {
    SpreadConfig config;
    config.tries = 4;
    Spread spread(config);
    spread.offer(one, item(1));
    TimePoint now = start;
    Duration waited{0};
    for (std::uint32_t tries = 1; tries <= config.tries; ++tries) {
        BOOST_REQUIRE(spread.next(now, *everybody).has_value());
        spread.failed(now, one);
        if (tries == config.tries) break;
        BOOST_TEST(!spread.next(now, *everybody).has_value());
        const Duration wait = spread.next_timeout() - now;
        BOOST_TEST(wait > waited);
        waited = wait;
        now = spread.next_timeout();
    }
    BOOST_TEST(spread.is_idle());
    BOOST_TEST(spread.counters().dropped == 1U);
    BOOST_TEST(spread.next_timeout() == time_never);
}

BOOST_AUTO_TEST_CASE(a_refusal_is_final_and_a_full_queue_elsewhere_is_not) {
    Spread spread({});
    spread.offer(one, item(1));
    spread.offer(one, item(2));
    spread.next(start, *everybody);
    BOOST_TEST(spread.answered(start, one, std::vector{OfferOutcome::refused, OfferOutcome::later}).empty());
    BOOST_TEST(spread.waiting() == 1U);
    BOOST_TEST(spread.counters().refused == 1U);
    BOOST_TEST(spread.next(spread.next_timeout(), *everybody)->question.items == std::vector{item(2)});
}

BOOST_AUTO_TEST_CASE(a_question_is_bounded_in_bytes_except_for_one_segment) {
    SpreadConfig config;
    config.offer_bytes = 1000;
    Spread spread(config);
    spread.offer(one, item(1, 600));
    spread.offer(one, item(2, 600));
    spread.offer(one, item(3, 5000));
    for (int turn = 0; turn < 3; ++turn) {
        BOOST_TEST(spread.next(start, *everybody)->question.items.size() == 1U);
        spread.answered(start, one, all(1, OfferOutcome::held));
    }
    BOOST_TEST(spread.is_idle());
}

BOOST_AUTO_TEST_CASE(a_queue_has_its_bound) {
    SpreadConfig config;
    config.queue_items = 3;
    Spread spread(config);
    for (std::uint64_t n = 0; n < 3; ++n) BOOST_TEST(spread.offer(one, item(n)));
    BOOST_TEST(!spread.offer(one, item(3)));
    BOOST_TEST(spread.room(one) == 0U);
    BOOST_TEST(spread.room(two) == 3U);
    BOOST_TEST(spread.counters().dropped == 1U);
}

BOOST_AUTO_TEST_CASE(moves_and_offers_do_not_share_a_question) {
    Spread spread({});
    spread.offer(one, item(1));
    spread.offer(one, item(2), true);
    BOOST_TEST(spread.next(start, *everybody)->question.kind == QuestionKind::offer);
    spread.answered(start, one, all(1, OfferOutcome::held));
    const auto move = spread.next(start, *everybody);
    BOOST_TEST(move->question.kind == QuestionKind::move);
    BOOST_TEST(move->question.items == std::vector{item(2)});
}

BOOST_AUTO_TEST_CASE(a_former_owner_is_offered_only_moves) {
    const auto many = placement_of(9);
    std::uint64_t foreign = 0;
    while (many->owns(one, key(foreign))) ++foreign;
    Spread spread({});
    spread.offer(one, item(foreign));
    BOOST_TEST(!spread.next(start, *many).has_value());
    BOOST_TEST(spread.is_idle());
    spread.offer(one, item(foreign), true);
    BOOST_TEST(spread.next(start, *many)->question.kind == QuestionKind::move);
}

BOOST_AUTO_TEST_CASE(items_for_a_peer_out_of_reach_are_dropped) {
    Spread spread({});
    spread.offer(one, item(1));
    spread.next(start, *everybody);
    spread.offer(one, item(2));
    spread.forget(one);
    spread.failed(start, one);
    BOOST_TEST(spread.counters().forgotten == 1U);
    BOOST_TEST(spread.waiting() == 1U);
}

BOOST_AUTO_TEST_CASE(an_item_waits_until_every_recipient_has_answered) {
    Spread spread({});
    spread.offer(one, item(1));
    spread.offer(two, item(1));
    spread.next(start, *everybody);
    spread.next(start, *everybody);
    BOOST_TEST(spread.waits(item(1)));
    spread.answered(start, one, std::vector{OfferOutcome::held});
    BOOST_TEST(spread.waits(item(1)));
    spread.answered(start, two, std::vector{OfferOutcome::held});
    BOOST_TEST(!spread.waits(item(1)));
}

BOOST_AUTO_TEST_SUITE_END()
