#include "kv/messages.h"

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "keys.h"
#include "support/print.h"

using namespace exa;
using namespace exa::kv;
using namespace exa::kv::samples;

namespace {

std::string answer(const std::vector<SealedSegment>& segments) {
    std::string bytes;
    for (const SealedSegment& segment : segments) {
        bytes += segment_prefix(segment != nullptr ? segment->size() : 0);
        if (segment != nullptr) bytes.append(reinterpret_cast<const char*>(segment->view().data()), segment->size());
    }
    return bytes;
}

bool same(const SealedSegment& a, const SealedSegment& b) {
    return (a == nullptr) == (b == nullptr) && (a == nullptr || std::ranges::equal(a->view(), b->view()));
}

std::string hex(std::string_view bytes) {
    return to_hex({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
}

}  // namespace

BOOST_AUTO_TEST_SUITE(messages)

BOOST_AUTO_TEST_CASE(a_question_is_read_as_it_was_written) {
    const Question look{QuestionKind::lookup, {{key(1)}, {key(2), 7, 0}}};
    BOOST_TEST(decode_question(encode(look)).value() == look);
    const Question move{QuestionKind::move, {item(3), {key(4), 9, 5000}}};
    BOOST_TEST(decode_question(encode(move)).value() == move);
}

BOOST_AUTO_TEST_CASE(the_bytes_of_a_question_are_the_golden_ones) {
    const Question question{QuestionKind::offer, {{key(1), 0x0102030405060708, 0x11223344 >> 8}, item(2)}};
    std::ifstream file(std::string(std::getenv("EXASERVE_TESTS")) + "/../proto/vectors/kv_question_1.bin",
                       std::ios::binary);
    const std::string golden{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    BOOST_TEST(hex(encode(question)) == hex(golden));
    BOOST_TEST(decode_question(golden).value() == question);
}

BOOST_AUTO_TEST_CASE(malformed_questions_are_refused) {
    const std::string good = encode(Question{QuestionKind::offer, {item(1)}});
    for (std::size_t size = 0; size < good.size(); ++size)
        BOOST_TEST(!decode_question(std::string_view(good).substr(0, size)).has_value());
    BOOST_TEST(!decode_question(good + "x").has_value());
    for (const auto& [at, value] : std::vector<std::pair<std::size_t, int>>{
             {0, 2}, {1, 0}, {1, 5}, {4, 0}, {4, 2}, {7, 1}, {good.size() - 4, 0}, {good.size() - 1, 0x7f}}) {
        std::string bad = good;
        bad[at] = static_cast<char>(value);
        BOOST_TEST(!decode_question(bad).has_value(), "byte " << at << " is " << value);
    }
}

BOOST_AUTO_TEST_CASE(answers_are_of_the_length_that_was_asked_for) {
    const std::vector<Item> items{item(1), {key(2)}};
    BOOST_TEST(decode_items(encode(std::span(items)), 2).value() == items);
    BOOST_TEST(!decode_items(encode(std::span(items)), 3).has_value());
    const std::vector<OfferOutcome> outcomes{OfferOutcome::held, OfferOutcome::failed};
    BOOST_TEST(decode_outcomes(encode(std::span(outcomes)), 2).value() == outcomes);
    BOOST_TEST(!decode_outcomes(encode(std::span(outcomes)), 1).has_value());
    BOOST_TEST(!decode_outcomes("\x05", 1).has_value());
}

BOOST_AUTO_TEST_CASE(segments_are_read_across_any_cuts) {
    const std::vector<SealedSegment> sent{body(1), nullptr, body(2, 5000), body(3)};
    const std::string bytes = answer(sent);
    for (const std::size_t cut : {std::size_t{1}, std::size_t{3}, std::size_t{199}, bytes.size()}) {
        SegmentReader reader(sent.size());
        std::vector<SealedSegment> read;
        for (std::size_t at = 0; at < bytes.size(); at += cut) {
            BOOST_REQUIRE(reader.feed(std::string_view(bytes).substr(at, cut)).has_value());
            while (auto segment = reader.next()) read.push_back(std::move(*segment));
        }
        BOOST_TEST(reader.whole());
        BOOST_TEST(std::ranges::equal(read, sent, same));
    }
}

BOOST_AUTO_TEST_CASE(an_answer_with_anything_but_segments_is_refused) {
    SegmentReader reader(1);
    BOOST_TEST(!reader.feed(answer({nullptr, nullptr})).has_value());
    BOOST_TEST(!reader.whole());
    SegmentReader small(1);
    BOOST_TEST(!small.feed(segment_prefix(segment_header_size - 1)).has_value());
    SegmentReader large(1);
    BOOST_TEST(!large.feed(segment_prefix(segment_header_size + segment_payload_max + 1)).has_value());
    SegmentReader cut(2);
    BOOST_TEST(cut.feed(answer({body(1)})).has_value());
    BOOST_TEST(!cut.whole());
}

BOOST_AUTO_TEST_SUITE_END()
