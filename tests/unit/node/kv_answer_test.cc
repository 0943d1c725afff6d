#include "node/kv_answer.h"

#include <boost/test/unit_test.hpp>

#include "support/print.h"
#include "unit/kv/keys.h"

using namespace exa;
using namespace exa::node;
using namespace exa::kv::samples;

namespace {

KvAnswer answer_to(kv::QuestionKind kind, std::initializer_list<kv::Item> items) {
    return KvAnswer(kv::encode(kv::Question{kind, items}));
}

template <class One, class Any>
bool is(const std::optional<Any>& any) {
    return any && std::holds_alternative<One>(*any);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(kv_answer)

BOOST_AUTO_TEST_CASE(what_cannot_be_decoded_is_refused_with_the_reason) {
    KvAnswer answer("nonsense");
    BOOST_TEST(!answer.poll_work());
    const auto part = answer.poll_part();
    BOOST_REQUIRE(is<KvAnswer::End>(part));
    BOOST_TEST(!std::get<KvAnswer::End>(*part).failure.empty());
    BOOST_TEST(!answer.poll_part());
}

BOOST_AUTO_TEST_CASE(a_lookup_is_answered_with_what_the_store_says) {
    KvAnswer answer = answer_to(kv::QuestionKind::lookup, {{key(1)}, {key(2)}});
    const auto work = answer.poll_work();
    BOOST_REQUIRE(is<KvAnswer::Lookup>(work));
    BOOST_TEST(std::get<KvAnswer::Lookup>(*work).keys == (std::vector{key(1), key(2)}));
    BOOST_TEST(!answer.poll_work());
    BOOST_TEST(!answer.poll_part());
    const std::vector<kv::Item> items{{key(1), 0, 4096}, {key(2)}};
    answer.handle_items(items);
    const auto body = answer.poll_part();
    BOOST_REQUIRE(is<KvAnswer::Body>(body));
    BOOST_TEST(kv::decode_items(std::get<KvAnswer::Body>(*body).bytes, 2).value() == items);
    BOOST_TEST(answer.is_sent());
    BOOST_TEST(is<KvAnswer::End>(answer.poll_part()));
    BOOST_TEST(!answer.poll_part());
}

BOOST_AUTO_TEST_CASE(segments_go_out_in_the_order_of_the_question_those_not_here_as_null) {
    KvAnswer answer = answer_to(kv::QuestionKind::fetch, {{key(1)}, {key(2)}, {key(3)}});
    std::vector<kv::SealedSegment> sent;
    for (;;) {
        while (const auto work = answer.poll_work()) {
            const kv::SegmentKey& asked = std::get<KvAnswer::Read>(*work).key;
            answer.handle_read(asked == key(2) ? nullptr : body(asked == key(1) ? 1 : 3));
        }
        auto part = answer.poll_part();
        BOOST_REQUIRE(part);
        if (is<KvAnswer::End>(part)) break;
        sent.push_back(std::get<KvAnswer::Segment>(*part).segment);
    }
    BOOST_TEST_REQUIRE(sent.size() == 3U);
    BOOST_TEST(std::ranges::equal(sent[0]->view(), body(1)->view()));
    BOOST_TEST(sent[1] == nullptr);
    BOOST_TEST(std::ranges::equal(sent[2]->view(), body(3)->view()));
}

BOOST_AUTO_TEST_CASE(one_segment_is_read_at_a_time_and_two_ahead) {
    KvAnswer answer = answer_to(kv::QuestionKind::fetch, {{key(1)}, {key(2)}, {key(3)}, {key(4)}});
    BOOST_TEST(is<KvAnswer::Read>(answer.poll_work()));
    BOOST_TEST(!answer.poll_work());
    answer.handle_read(body(1));
    BOOST_TEST(is<KvAnswer::Read>(answer.poll_work()));
    answer.handle_read(body(2));
    BOOST_TEST(!answer.poll_work());
    BOOST_TEST(is<KvAnswer::Segment>(answer.poll_part()));
    BOOST_TEST(is<KvAnswer::Read>(answer.poll_work()));
}

BOOST_AUTO_TEST_CASE(a_read_that_nobody_asked_for_changes_nothing) {
    KvAnswer answer = answer_to(kv::QuestionKind::fetch, {{key(1)}});
    answer.handle_read(body(7));
    BOOST_TEST(!answer.poll_part());
    BOOST_TEST(is<KvAnswer::Read>(answer.poll_work()));
    answer.handle_read(body(1));
    answer.handle_read(body(7));
    BOOST_TEST(is<KvAnswer::Segment>(answer.poll_part()));
    BOOST_TEST(answer.is_sent());
    BOOST_TEST(is<KvAnswer::End>(answer.poll_part()));
}

BOOST_AUTO_TEST_CASE(an_offer_goes_to_the_replicator_with_its_latest_stamp) {
    KvAnswer answer = answer_to(kv::QuestionKind::offer, {{key(1), 5, 4096}, {key(2), 9, 4096}, {key(3), 7, 4096}});
    const auto work = answer.poll_work();
    BOOST_REQUIRE(is<KvAnswer::Offer>(work));
    BOOST_TEST(std::get<KvAnswer::Offer>(*work).latest_stamp == 9U);
    BOOST_TEST(std::get<KvAnswer::Offer>(*work).question.items.size() == 3U);
    answer.handle_outcomes("abc");
    const auto body = answer.poll_part();
    BOOST_REQUIRE(is<KvAnswer::Body>(body));
    BOOST_TEST(std::get<KvAnswer::Body>(*body).bytes == "abc");
    BOOST_TEST(is<KvAnswer::End>(answer.poll_part()));
}

BOOST_AUTO_TEST_CASE(only_a_waiting_offer_is_forgotten_when_it_is_cancelled) {
    KvAnswer waiting = answer_to(kv::QuestionKind::move, {{key(1), 0, 4096}});
    BOOST_TEST(is<KvAnswer::Offer>(waiting.poll_work()));
    waiting.cancel();
    BOOST_TEST(is<KvAnswer::Forget>(waiting.poll_work()));
    BOOST_TEST(!waiting.poll_work());
    waiting.cancel();
    BOOST_TEST(!waiting.poll_work());
    waiting.handle_outcomes("x");
    BOOST_TEST(!waiting.poll_part());

    KvAnswer answered = answer_to(kv::QuestionKind::move, {{key(1), 0, 4096}});
    answered.poll_work();
    answered.handle_outcomes("x");
    answered.cancel();
    BOOST_TEST(!answered.poll_work());

    KvAnswer fetch = answer_to(kv::QuestionKind::fetch, {{key(1)}, {key(2)}});
    fetch.poll_work();
    fetch.cancel();
    fetch.handle_read(body(1));
    BOOST_TEST(!fetch.poll_work());
    BOOST_TEST(!fetch.poll_part());
}

BOOST_AUTO_TEST_SUITE_END()
