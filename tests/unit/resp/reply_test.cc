#include "resp/reply.h"
#include "support/print.h"

#include <boost/test/unit_test.hpp>

using namespace exa;
using namespace exa::resp;

namespace {

std::string sent(ReplyWriter& writer) {
    std::string text;
    for (const Piece& piece : writer.take()) text += as_text(piece.bytes);
    return text;
}

Value value_of(std::string text, std::size_t pieces = 1) {
    const auto memory = std::make_shared<std::string>(std::move(text));
    Value value;
    const std::size_t each = (memory->size() + pieces - 1) / pieces;
    for (std::size_t i = 0; i < memory->size(); i += each)
        value.pieces.push_back({memory, as_bytes(std::string_view(*memory).substr(i, each))});
    return value;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(reply)

BOOST_AUTO_TEST_CASE(answers_have_the_bytes_that_clients_compare_with) {
    ReplyWriter writer;
    writer.simple("OK");
    writer.integer(0);
    writer.integer(-1);
    writer.bulk("a\r\nb");
    writer.null();
    writer.array(2);
    writer.map(1);
    writer.error("ERR no\r\n+OK");
    BOOST_TEST(sent(writer) == "+OK\r\n:0\r\n:-1\r\n$4\r\na\r\nb\r\n$-1\r\n*2\r\n*2\r\n-ERR no  +OK\r\n");
    BOOST_TEST(writer.empty());
}

BOOST_AUTO_TEST_CASE(version_3_has_maps_and_a_null_of_its_own) {
    ReplyWriter writer;
    writer.set_version(3);
    writer.null();
    writer.map(1);
    BOOST_TEST(sent(writer) == "_\r\n%1\r\n");
}

BOOST_AUTO_TEST_CASE(a_large_value_is_not_copied) {
    ReplyWriter writer;
    const Value value = value_of(std::string(100'000, 'x'), 3);
    writer.simple("OK");
    writer.bulk(value);
    writer.integer(1);
    BOOST_TEST(writer.bytes() == 5u + 9u + 100'000u + 2u + 4u);
    const auto pieces = writer.take();
    BOOST_TEST_REQUIRE(pieces.size() == 5u);
    for (std::size_t i = 0; i < 3; ++i) BOOST_TEST(pieces[i + 1].bytes.data() == value.pieces[i].bytes.data());
    BOOST_TEST(as_text(pieces[0].bytes) == "+OK\r\n$100000\r\n");
    BOOST_TEST(as_text(pieces[4].bytes) == "\r\n:1\r\n");
}

BOOST_AUTO_TEST_CASE(small_and_empty_values_are_one_text) {
    ReplyWriter writer;
    writer.bulk(value_of("hello", 2));
    writer.bulk(Value{});
    const auto pieces = writer.take();
    BOOST_TEST_REQUIRE(pieces.size() == 1u);
    BOOST_TEST(as_text(pieces[0].bytes) == "$5\r\nhello\r\n$0\r\n\r\n");
}

BOOST_AUTO_TEST_SUITE_END()
