#include "io/http/response_parser.h"

#include <boost/test/unit_test.hpp>

#include "base/rng.h"

using namespace exa;
using namespace exa::io;
using namespace exa::io::http;

namespace {

struct Collected final : ResponseSink {
    void on_head(const ResponseHead& head) override { heads.push_back(head); }
    bool on_body(std::string_view piece) override {
        body += piece;
        return body.size() < limit;
    }

    std::vector<ResponseHead> heads;
    std::string body;
    std::size_t limit = ~std::size_t{0};
};

// Offers `bytes` in pieces of at most `piece`, as a connection would. What is left behind the answer; nothing when it
// is refused.
std::optional<std::string> feed(ResponseParser& parser, std::string_view bytes, std::size_t piece) {
    std::string pending;
    while (!bytes.empty() && !parser.is_done()) {
        pending += bytes.substr(0, piece);
        bytes.remove_prefix(std::min(piece, bytes.size()));
        const auto taken = parser.feed(pending);
        if (!taken) return std::nullopt;
        pending.erase(0, *taken);
    }
    return pending + std::string(bytes);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(response_parser)

BOOST_AUTO_TEST_CASE(answers_of_one_connection_follow_one_another_however_they_are_cut) {
    const std::string chunked =
        "HTTP/1.1 200 OK\r\nX-Session-Id: token\r\ntransfer-encoding: "
        "chunked\r\n\r\n3\r\nabc\r\n5;x=y\r\ndefgh\r\n0\r\n\r\n";
    const std::string sized = "HTTP/1.1 503 Busy\r\nretry-after-ms: 50\r\ncontent-length: 4\r\n\r\nbusy";
    for (const std::size_t piece : {1UL, 3UL, 7UL, 1000UL}) {
        ResponseParser parser;
        Collected first;
        parser.begin(first);
        BOOST_TEST(!parser.has_begun());
        const auto rest = feed(parser, chunked + sized, piece);
        BOOST_TEST_REQUIRE(rest.has_value());
        BOOST_TEST(parser.is_done());
        BOOST_TEST(parser.keeps_alive());
        BOOST_TEST_REQUIRE(first.heads.size() == 1u);
        BOOST_TEST(first.heads.front().status == 200);
        BOOST_TEST(*first.heads.front().headers.find("x-session-id") == "token");
        BOOST_TEST(first.body == "abcdefgh");
        Collected second;
        parser.begin(second);
        BOOST_TEST(feed(parser, *rest, piece).value().empty());
        BOOST_TEST(parser.is_done());
        BOOST_TEST(second.heads.front().status == 503);
        BOOST_TEST(second.body == "busy");
    }
}

BOOST_AUTO_TEST_CASE(a_status_line_may_lack_the_blank_before_its_empty_reason) {
    for (const std::size_t piece : {1UL, 3UL, 13UL, 1000UL}) {
        ResponseParser parser;
        Collected sink;
        parser.begin(sink);
        const auto rest =
            feed(parser, "HTTP/1.1 100\r\n\r\nHTTP/1.1 404\r\ncontent-length: 3\r\n\r\nabcHTTP/1.1 200\r\n", piece);
        BOOST_TEST_REQUIRE(rest.has_value());
        BOOST_TEST(parser.is_done());
        BOOST_TEST_REQUIRE(sink.heads.size() == 1U);
        BOOST_TEST(sink.heads.front().status == 404);
        BOOST_TEST(sink.body == "abc");
        BOOST_TEST(*rest == "HTTP/1.1 200\r\n");
    }
}

BOOST_AUTO_TEST_CASE(interim_answers_are_passed_over) {
    ResponseParser parser;
    Collected sink;
    parser.begin(sink);
    BOOST_TEST(
        feed(parser, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nx", 5).has_value());
    BOOST_TEST(parser.is_done());
    BOOST_TEST(sink.heads.size() == 1u);
    BOOST_TEST(sink.body == "x");
}

BOOST_AUTO_TEST_CASE(a_body_without_length_ends_with_the_connection_and_a_cut_one_does_not) {
    ResponseParser parser;
    Collected sink;
    parser.begin(sink);
    BOOST_TEST(feed(parser, "HTTP/1.1 200 OK\r\n\r\nabc", 100).has_value());
    BOOST_TEST(!parser.is_done());
    BOOST_TEST(parser.feed_end());
    BOOST_TEST(sink.body == "abc");
    BOOST_TEST(!parser.keeps_alive());
    parser.begin(sink);
    BOOST_TEST(!parser.feed_end());
    BOOST_TEST(feed(parser, "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc", 100).has_value());
    BOOST_TEST(!parser.feed_end());
}

BOOST_AUTO_TEST_CASE(connection_close_and_http_1_0_are_not_kept_alive) {
    for (const char* text : {"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n",
                             "HTTP/1.0 200 OK\r\ncontent-length: 0\r\n\r\n"}) {
        ResponseParser parser;
        Collected sink;
        parser.begin(sink);
        BOOST_TEST(feed(parser, text, 1000).has_value());
        BOOST_TEST(parser.is_done());
        BOOST_TEST(!parser.keeps_alive());
    }
}

BOOST_AUTO_TEST_CASE(a_sink_that_wants_no_more_stops_the_answer) {
    ResponseParser parser;
    Collected sink;
    sink.limit = 3;
    parser.begin(sink);
    BOOST_TEST(!feed(parser, "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabcdefghi", 1).has_value());
    BOOST_TEST(parser.is_stopped());
    BOOST_TEST(sink.body == "abc");
}

BOOST_AUTO_TEST_CASE(what_is_not_http_is_refused) {
    for (const std::string& text :
         {std::string("SSH-2.0-OpenSSH_9.2p1 Debian\r\n\r\n"), std::string("HTTP/1.1 abc OK\r\n\r\n"),
          std::string("HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n"),
          std::string("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n"),
          "HTTP/1.1 200 OK\r\na: " + std::string(100'000, 'x')}) {
        ResponseParser parser;
        Collected sink;
        parser.begin(sink);
        BOOST_TEST(!feed(parser, text, 1 << 20).has_value());
        BOOST_TEST(!parser.is_stopped());
        BOOST_TEST(!parser.fault().empty());
    }
}

BOOST_AUTO_TEST_CASE(random_bytes_do_no_harm) {
    Rng rng(2);
    const std::string alphabet = "HTTP/1.1 200\r\n\r\n: chunked0123abc\xff";
    for (int round = 0; round < 2000; ++round) {
        ResponseParser parser;
        Collected sink;
        parser.begin(sink);
        std::string bytes = round % 2 == 0 ? "" : "HTTP/1.1 200 OK\r\n";
        for (int i = 0; i < 80; ++i) bytes += alphabet[rng.below(alphabet.size())];
        feed(parser, bytes, 1 + rng.below(40));
        parser.feed_end();
    }
}

BOOST_AUTO_TEST_SUITE_END()
