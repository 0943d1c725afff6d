#include "resp/request_parser.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "support/print.h"

using namespace exa;
using namespace exa::resp;

namespace {

// Pieces of at most `piece` bytes; nothing past `most` bytes.
MakeBody bodies_of(std::size_t piece, std::uint64_t most = ~0ull) {
    return [piece, most](const Request&, std::uint64_t bytes) -> std::optional<Body> {
        if (bytes > most) return std::nullopt;
        const auto memory = std::make_shared<Bytes>(std::min<std::uint64_t>(bytes, piece));
        return Body{memory, *memory};
    };
}

std::string body_text(const Request& request) {
    std::string text;
    for (const Body& body : request.bodies) text += as_text(body.bytes);
    return text;
}

void feed(RequestParser& parser, std::string_view text) {
    while (!text.empty()) {
        std::size_t filled = 0;
        for (const auto& room : parser.buffers()) {
            const std::size_t part = std::min(room.size(), text.size());
            std::copy_n(text.begin(), part, room.begin());
            text.remove_prefix(part);
            filled += part;
        }
        parser.commit(filled);
        if (!text.empty() && parser.next()) BOOST_FAIL("a request before its end");
        if (parser.broken()) return;
    }
}

Request parse_one(RequestParser& parser, std::string_view text) {
    feed(parser, text);
    auto request = parser.next();
    BOOST_REQUIRE(request.has_value());
    return std::move(*request);
}

std::string bulk(std::string_view text) {
    return "$" + std::to_string(text.size()) + "\r\n" + std::string(text) + "\r\n";
}

ArgumentBudget budget;

bool breaks(std::string_view text) {
    RequestParser parser({}, bodies_of(1 << 20), budget);
    feed(parser, text);
    while (parser.next()) {
    }
    return parser.broken();
}

using Words = std::vector<std::string>;

}  // namespace

BOOST_AUTO_TEST_SUITE(request_parser)

BOOST_AUTO_TEST_CASE(an_array_of_bulk_strings_is_a_request) {
    RequestParser parser({}, bodies_of(1 << 20), budget);
    BOOST_TEST(parse_one(parser, "*2\r\n$3\r\nGET\r\n$4\r\nk\r\ny\r\n").arguments == (Words{"GET", "k\r\ny"}));
    BOOST_TEST(parse_one(parser, "*1\r\n$0\r\n\r\n").arguments == Words{""});
}

BOOST_AUTO_TEST_CASE(words_on_a_line_are_a_request) {
    RequestParser parser({}, bodies_of(1 << 20), budget);
    BOOST_TEST(parse_one(parser, "  PING  there \r\n").arguments == (Words{"PING", "there"}));
    BOOST_TEST(parse_one(parser, "PING\n").arguments == Words{"PING"});
}

BOOST_AUTO_TEST_CASE(empty_lines_and_arrays_ask_nothing) {
    RequestParser parser({}, bodies_of(1 << 20), budget);
    BOOST_TEST(parse_one(parser, "\r\n*0\r\n*-1\r\n   \r\n*1\r\n$4\r\nPING\r\n").arguments == Words{"PING"});
}

BOOST_AUTO_TEST_CASE(requests_that_come_together_come_out_in_order) {
    RequestParser parser({}, bodies_of(1 << 20), budget);
    feed(parser, "*1\r\n$1\r\na\r\nb\r\n*1\r\n$1\r\nc\r\n");
    for (const char* name : {"a", "b", "c"}) BOOST_TEST(parser.next()->arguments == Words{name});
    BOOST_TEST(!parser.next().has_value());
}

BOOST_AUTO_TEST_CASE(a_large_argument_is_read_into_the_memory_of_its_owner) {
    std::string value(200'000, 'x');
    for (std::size_t i = 0; i < value.size(); ++i) value[i] = static_cast<char>(i * 31);
    for (const std::size_t piece : {1u << 20, 70'000u, 16'384u}) {
        RequestParser parser({}, bodies_of(piece), budget);
        const std::string text = "*5\r\n$3\r\nSET\r\n$1\r\nk\r\n" + bulk(value) + "$2\r\nEX\r\n$1\r\n5\r\n";
        const Request request = parse_one(parser, text);
        BOOST_TEST(request.arguments == (Words{"SET", "k", "", "EX", "5"}));
        BOOST_TEST(request.body_bytes == value.size());
        BOOST_TEST(body_text(request) == value);
        BOOST_TEST(request.bodies.size() == (value.size() + piece - 1) / piece);
        BOOST_TEST(parse_one(parser, "PING\r\n").arguments == Words{"PING"});
    }
}

BOOST_AUTO_TEST_CASE(bytes_without_memory_are_skipped_and_the_next_request_is_whole) {
    RequestParser parser({}, bodies_of(70'000, 100'000), budget);
    const Request request = parse_one(parser, "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n" + bulk(std::string(300'000, 'x')));
    BOOST_TEST(request.refused);
    BOOST_TEST(request.bodies.empty());
    BOOST_TEST(parse_one(parser, "PING\r\n").arguments == Words{"PING"});
}

BOOST_AUTO_TEST_CASE(quotes_hold_the_words_of_a_line_together) {
    RequestParser parser({}, bodies_of(1 << 20), budget);
    BOOST_TEST(parse_one(parser, "SET k \"a b\"\r\n").arguments == (Words{"SET", "k", "a b"}));
    BOOST_TEST(breaks("SET k \"a b\r\n"));
}

BOOST_AUTO_TEST_CASE(negative_counts_ask_nothing) {
    RequestParser parser({}, bodies_of(1 << 20), budget);
    BOOST_TEST(parse_one(parser, "*-10\r\n*1\r\n$4\r\nPING\r\n").arguments == Words{"PING"});
}

BOOST_AUTO_TEST_CASE(what_is_not_the_protocol_breaks_the_connection) {
    for (const std::string& text :
         {std::string("*x\r\n"), std::string("*1\r\nGET\r\n"), std::string("*1\r\n$x\r\n"),
          std::string("*1\r\n$-1\r\n"), std::string("*1\r\n$3\r\nGETxx"), std::string("*3000000000\r\n"),
          std::string("*1\r\n$99999999999\r\n"), std::string("*18446744073709551616\r\n"), "*" + std::string(100, '1'),
          std::string(70'000, 'a')})
        BOOST_TEST(breaks(text), text.substr(0, 40));
}

BOOST_AUTO_TEST_CASE(a_request_above_the_limits_is_named_and_the_next_one_is_whole) {
    ParserLimits limits;
    limits.arguments_max = 100;
    limits.bytes_max = 100'000;
    for (const auto& [count, bytes] : {std::pair(101, 3), std::pair(11, 10'000), std::pair(2, 200'000)}) {
        RequestParser parser(limits, bodies_of(1 << 20), budget);
        std::string text = "*" + std::to_string(count + 1) + "\r\n$3\r\nDEL\r\n";
        for (int i = 0; i < count; ++i) text += bulk(std::string(static_cast<std::size_t>(bytes), 'a'));
        const Request request = parse_one(parser, text);
        BOOST_TEST(request.arguments == Words{"DEL"});
        BOOST_TEST(!request.over_limit.empty());
        BOOST_TEST(parse_one(parser, "PING\r\n").over_limit.empty());
    }
}

BOOST_AUTO_TEST_CASE(requests_within_the_limits_are_served_whole) {
    RequestParser parser({}, bodies_of(1 << 20), budget);
    std::string text = "*100001\r\n$3\r\nDEL\r\n";
    for (int i = 0; i < 100'000; ++i) text += bulk(std::string(20, 'a'));
    BOOST_TEST(parse_one(parser, text).arguments.size() == 100'001u);
    // Large arguments that are not the value of a SET are arguments as others.
    text = "*5\r\n" + bulk("MSET") + bulk("a") + bulk(std::string(20'000, 'a')) + bulk("b") +
           bulk(std::string(30'000, 'b'));
    const Request request = parse_one(parser, text);
    BOOST_TEST(request.arguments[2].size() == 20'000u);
    BOOST_TEST(request.arguments[4].size() == 30'000u);
    BOOST_TEST(request.bodies.empty());
}

BOOST_AUTO_TEST_CASE(arguments_of_all_connections_share_a_budget) {
    ArgumentBudget small{300'000};
    std::string text = "*2\r\n" + bulk("DEL") + bulk(std::string(300'000, 'a'));
    {
        RequestParser first({}, bodies_of(1 << 20), small);
        BOOST_TEST(parse_one(first, text).over_limit.empty());
        RequestParser second({}, bodies_of(1 << 20), small);
        BOOST_TEST(!parse_one(second, text).over_limit.empty());
        first.next();
        BOOST_TEST(small.bytes_left == 300'000u);
        BOOST_TEST(parse_one(second, text).over_limit.empty());
    }
    BOOST_TEST(small.bytes_left == 300'000u);
}

BOOST_AUTO_TEST_CASE(who_has_not_said_who_it_is_sends_little) {
    for (const std::string& text : {"*11\r\n" + bulk("AUTH"), "*2\r\n" + bulk("AUTH") + "$16385\r\n"}) {
        RequestParser parser({}, bodies_of(1 << 20), budget);
        parser.set_restricted(true);
        feed(parser, text);
        BOOST_TEST(!parser.next());
        BOOST_TEST(parser.broken());
    }
}

BOOST_AUTO_TEST_SUITE_END()
