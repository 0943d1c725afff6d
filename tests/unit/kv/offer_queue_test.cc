#include "kv/offer_queue.h"

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

BOOST_AUTO_TEST_SUITE(offers)

BOOST_AUTO_TEST_CASE(items_for_one_peer_share_a_question) {
    OfferQueue offers({});
    for (std::uint64_t n = 0; n < 5; ++n) offers.offer(one, item(n));
    const auto offer = offers.next(start, *everybody);
    BOOST_REQUIRE(offer.has_value());
    BOOST_TEST(offer->to == one);
    BOOST_TEST(offer->question.kind == QuestionKind::offer);
    BOOST_TEST(offer->question.items.size() == 5U);
    offers.offer(one, item(9));
    BOOST_TEST(!offers.next(start, *everybody).has_value());
    BOOST_TEST(offers.answered(start, one, all(5, OfferOutcome::held)).size() == 5U);
    BOOST_TEST(offers.next(start, *everybody)->question.items.size() == 1U);
    offers.answered(start, one, all(1, OfferOutcome::held));
    BOOST_TEST(offers.is_idle());
}

BOOST_AUTO_TEST_CASE(peers_take_turns) {
    OfferQueue offers({});
    for (std::uint64_t n = 0; n < 3; ++n) {
        offers.offer(one, item(n));
        offers.offer(two, item(n));
    }
    BOOST_TEST(offers.next(start, *everybody)->to == one);
    BOOST_TEST(offers.next(start, *everybody)->to == two);
    offers.offer(one, item(7));
    offers.offer(two, item(7));
    offers.answered(start, one, all(3, OfferOutcome::held));
    BOOST_TEST(offers.next(start, *everybody)->to == one);
    offers.answered(start, two, all(3, OfferOutcome::held));
    offers.answered(start, one, all(1, OfferOutcome::held));
    offers.offer(one, item(8));
    BOOST_TEST(offers.next(start, *everybody)->to == two);
}

BOOST_AUTO_TEST_CASE(nothing_is_queued_twice) {
    OfferQueue offers({});
    offers.offer(one, item(1));
    offers.offer(one, item(1));
    BOOST_TEST(offers.next(start, *everybody)->question.items.size() == 1U);
    offers.offer(one, item(1));
    BOOST_TEST(offers.waiting() == 1U);
    offers.answered(start, one, all(1, OfferOutcome::held));
    offers.offer(one, item(1));
    BOOST_TEST(offers.waiting() == 1U);
}

BOOST_AUTO_TEST_CASE(a_failure_is_retried_at_longer_intervals_and_not_for_good) {
    OfferQueueConfig config;
    config.tries = 4;
    OfferQueue offers(config);
    offers.offer(one, item(1));
    TimePoint now = start;
    Duration waited{0};
    for (std::uint32_t tries = 1; tries <= config.tries; ++tries) {
        BOOST_REQUIRE(offers.next(now, *everybody).has_value());
        offers.failed(now, one);
        if (tries == config.tries) break;
        BOOST_TEST(!offers.next(now, *everybody).has_value());
        const Duration wait = offers.next_timeout() - now;
        BOOST_TEST(wait > waited);
        waited = wait;
        now = offers.next_timeout();
    }
    BOOST_TEST(offers.is_idle());
    BOOST_TEST(offers.counters().dropped == 1U);
    BOOST_TEST(offers.next_timeout() == time_never);
}

BOOST_AUTO_TEST_CASE(a_refusal_is_final_and_a_full_queue_elsewhere_is_not) {
    OfferQueue offers({});
    offers.offer(one, item(1));
    offers.offer(one, item(2));
    offers.next(start, *everybody);
    BOOST_TEST(offers.answered(start, one, std::vector{OfferOutcome::refused, OfferOutcome::later}).empty());
    BOOST_TEST(offers.waiting() == 1U);
    BOOST_TEST(offers.counters().refused == 1U);
    BOOST_TEST(offers.next(offers.next_timeout(), *everybody)->question.items == std::vector{item(2)});
}

BOOST_AUTO_TEST_CASE(a_question_is_bounded_in_bytes_except_for_one_segment) {
    OfferQueueConfig config;
    config.offer_bytes = 1000;
    OfferQueue offers(config);
    offers.offer(one, item(1, 600));
    offers.offer(one, item(2, 600));
    offers.offer(one, item(3, 5000));
    for (int turn = 0; turn < 3; ++turn) {
        BOOST_TEST(offers.next(start, *everybody)->question.items.size() == 1U);
        offers.answered(start, one, all(1, OfferOutcome::held));
    }
    BOOST_TEST(offers.is_idle());
}

BOOST_AUTO_TEST_CASE(a_queue_has_its_bound) {
    OfferQueueConfig config;
    config.queue_items = 3;
    OfferQueue offers(config);
    for (std::uint64_t n = 0; n < 3; ++n) BOOST_TEST(offers.offer(one, item(n)));
    BOOST_TEST(!offers.offer(one, item(3)));
    BOOST_TEST(offers.room(one) == 0U);
    BOOST_TEST(offers.room(two) == 3U);
    BOOST_TEST(offers.counters().dropped == 1U);
}

BOOST_AUTO_TEST_CASE(moves_and_offers_do_not_share_a_question) {
    OfferQueue offers({});
    offers.offer(one, item(1));
    offers.offer(one, item(2), true);
    BOOST_TEST(offers.next(start, *everybody)->question.kind == QuestionKind::offer);
    offers.answered(start, one, all(1, OfferOutcome::held));
    const auto move = offers.next(start, *everybody);
    BOOST_TEST(move->question.kind == QuestionKind::move);
    BOOST_TEST(move->question.items == std::vector{item(2)});
}

BOOST_AUTO_TEST_CASE(a_former_owner_is_offered_only_moves) {
    const auto many = placement_of(9);
    std::uint64_t foreign = 0;
    while (many->owns(one, key(foreign))) ++foreign;
    OfferQueue offers({});
    offers.offer(one, item(foreign));
    BOOST_TEST(!offers.next(start, *many).has_value());
    BOOST_TEST(offers.is_idle());
    offers.offer(one, item(foreign), true);
    BOOST_TEST(offers.next(start, *many)->question.kind == QuestionKind::move);
}

BOOST_AUTO_TEST_CASE(items_for_a_peer_out_of_reach_are_dropped) {
    OfferQueue offers({});
    offers.offer(one, item(1));
    offers.next(start, *everybody);
    offers.offer(one, item(2));
    offers.forget(one);
    offers.failed(start, one);
    BOOST_TEST(offers.counters().forgotten == 1U);
    BOOST_TEST(offers.waiting() == 1U);
}

BOOST_AUTO_TEST_CASE(an_item_waits_until_every_recipient_has_answered) {
    OfferQueue offers({});
    offers.offer(one, item(1));
    offers.offer(two, item(1));
    offers.next(start, *everybody);
    offers.next(start, *everybody);
    BOOST_TEST(offers.waits(item(1)));
    offers.answered(start, one, std::vector{OfferOutcome::held});
    BOOST_TEST(offers.waits(item(1)));
    offers.answered(start, two, std::vector{OfferOutcome::held});
    BOOST_TEST(!offers.waits(item(1)));
}

BOOST_AUTO_TEST_SUITE_END()
