#include "io/http/request_parser.h"
#include "support/print.h"

#include <boost/test/unit_test.hpp>

using namespace exa::io;
using namespace exa::io::http;

namespace {

// Feeds `bytes` as far as they are taken; true when a whole request came out.
bool feed_all(RequestParser& parser, std::string_view bytes, std::size_t step) {
    std::string inbox;
    for (std::size_t at = 0; at < bytes.size(); at += step) {
        inbox += bytes.substr(at, step);
        const auto taken = parser.feed(inbox);
        if (!taken) return false;
        inbox.erase(0, *taken);
    }
    return parser.done();
}

int status_of(std::string_view bytes) {
    RequestParser parser(1'000, 100);
    return feed_all(parser, bytes, bytes.size()) ? 200 : parser.fault().status;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(request_parser)

BOOST_AUTO_TEST_CASE(target_is_split_at_the_question_mark) {
    RequestParser parser(1'000, 100);
    BOOST_TEST(feed_all(parser, "GET /v1/models?a=b?c HTTP/1.1\r\nHost: h\r\nX-Id:  7 \r\n\r\n", 1'000));
    const auto request = parser.take();
    BOOST_TEST(request.method == "GET");
    BOOST_TEST(request.path == "/v1/models");
    BOOST_TEST(request.query == "a=b?c");
    BOOST_TEST(request.headers.find("x-id") == "7");
    BOOST_TEST(request.keep_alive);
}

BOOST_AUTO_TEST_CASE(bytes_of_the_next_request_are_left) {
    RequestParser parser(1'000, 100);
    const std::string_view first = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nab";
    const auto taken = parser.feed(std::string(first) + "GET /next");
    BOOST_TEST(taken == first.size());
    BOOST_TEST(parser.done());
    BOOST_TEST(parser.take().body == "ab");
}

BOOST_AUTO_TEST_CASE(chunks_come_together_however_they_are_cut) {
    for (const std::size_t step : {1UL, 2UL, 3UL, 7UL, 1'000UL}) {
        RequestParser parser(1'000, 100);
        BOOST_TEST(feed_all(parser,
                            "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
                            "5;name=value\r\nhello\r\nA\r\n, world, x\r\n0\r\nTrailer: t\r\n\r\n",
                            step),
                   "step " << step);
        BOOST_TEST(parser.take().body == "hello, world, x");
    }
}

// It once ended the process: the last chunk's size, and then a byte at a time.
BOOST_AUTO_TEST_CASE(last_chunk_may_be_the_first_and_come_in_pieces) {
    for (const char* body : {"0\r\n\r\n", "0\r\nT: t\r\n\r\n", "0;a=b\r\n\r\n", "1\r\nx\r\n0\r\n\r\n"})
        for (const std::size_t step : {1UL, 2UL, 3UL, 4UL, 5UL}) {
            RequestParser parser(1'000, 100);
            BOOST_TEST(
                feed_all(parser, std::string("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n") + body,
                         step),
                body << " by " << step);
        }
    RequestParser parser(1'000, 100);
    BOOST_TEST(
        !feed_all(parser, "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nx\r\n0\r\n\r\n", 1));
    BOOST_TEST(parser.fault().status == 400);
}

BOOST_AUTO_TEST_CASE(limits_have_their_own_status) {
    BOOST_TEST(status_of("GET / HTTP/1.1\r\nHost: h\r\nX: " + std::string(2'000, 'x') + "\r\n\r\n") == 431);
    BOOST_TEST(status_of("GET /" + std::string(2'000, 'x') + " HTTP/1.1\r\nHost: h\r\n\r\n") == 431);
    BOOST_TEST(status_of("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 101\r\n\r\n") == 413);
    BOOST_TEST(status_of("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\n" + std::string(100, 'x')) == 200);
    BOOST_TEST(status_of("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n40\r\n" +
                         std::string(64, 'x') + "\r\n40\r\n" + std::string(64, 'x') + "\r\n0\r\n\r\n") == 413);
    BOOST_TEST(status_of("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 18446744073709551615\r\n\r\n") == 413);
    BOOST_TEST(status_of("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 18446744073709551616\r\n\r\n") == 400);
    BOOST_TEST(status_of("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: -1\r\n\r\n") == 400);
}

BOOST_AUTO_TEST_CASE(ways_to_smuggle_are_refused) {
    for (const char* fields : {"Content-Length: 1\r\nTransfer-Encoding: chunked", "Transfer-Encoding: chunked, gzip",
                               "Transfer-Encoding: gzip, chunked, chunked", "Transfer-Encoding: identity",
                               "Transfer-Encoding: xchunked", "Content-Length: 1\r\nContent-Length: 2",
                               "Content-Length: 1, 2", "Content-Length: +1", "Bad Name: x", "Name : x"})
        BOOST_TEST(status_of(std::string("POST / HTTP/1.1\r\nHost: h\r\n") + fields + "\r\n\r\n0\r\n\r\n") == 400,
                   fields);
    BOOST_TEST(status_of("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n") == 400);
}

// The length of a body may not be open to opinion, and a coding that is not undone is no body of ours.
BOOST_AUTO_TEST_CASE(codings_and_lengths_are_said_once_and_understood) {
    const auto post = [](std::string fields) {
        return status_of("POST / HTTP/1.1\r\nHost: h\r\n" + fields + "\r\n\r\n1\r\nx\r\n0\r\n\r\n");
    };
    BOOST_TEST(post("Transfer-Encoding: gzip, chunked") == 501);
    BOOST_TEST(post("Transfer-Encoding: Chunked") == 200);
    BOOST_TEST(post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked") == 400);
    BOOST_TEST(post("Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked") == 400);
    BOOST_TEST(post("Transfer-Encoding:\x0b"
                    "chunked") == 400);
    BOOST_TEST(post("Content-Length: 11\r\nContent-Length: 11") == 400);
    BOOST_TEST(post("Content-Length: 11, 11") == 400);
    BOOST_TEST(post("Content-Length: 11\r\nContent-Encoding: gzip") == 415);
    BOOST_TEST(post("Content-Length: 11\r\nContent-Encoding: identity") == 200);
    BOOST_TEST(post("Content-Length: 11\r\nExpect: 200-ok") == 417);
}

BOOST_AUTO_TEST_CASE(lines_end_in_crlf_and_fields_in_their_line_however_they_are_cut) {
    for (const char* request :
         {"GET / HTTP/1.1\nHost: h\n\n", "GET / HTTP/1.1\r\nHost: h\n\r\n", "GET / HTTP/1.1\nHost: h\r\n\r\n",
          "GET / HTTP/1.1\r\nHost: h\r\n\n", "GET / HTTP/1.1\r\nHost: h\r\nX: a\r\n b\r\n\r\n",
          "GET / HTTP/1.1\r\nHost: h\r\nX: a\r\n\tb\r\n\r\n", "GET / HTTP/1.1\r\n Host: h\r\n\r\n",
          "GET / HTTP/1.1\r\nHost: h\rX: a\r\n\r\n"})
        for (const std::size_t step : {1UL, 2UL, 5UL, 1'000UL}) {
            RequestParser parser(1'000, 100);
            BOOST_TEST(!feed_all(parser, request, step), request << " by " << step);
            BOOST_TEST(parser.fault().status == 400, request << " by " << step);
        }
    // A body is not a header.
    BOOST_TEST(status_of("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\n\n \n ") == 200);
}

BOOST_AUTO_TEST_CASE(header_fields_are_counted) {
    const auto with = [](std::size_t fields) {
        std::string request = "GET / HTTP/1.1\r\nHost: h\r\n";
        for (std::size_t i = 1; i < fields; ++i) request += "a:\r\n";
        return status_of(request + "\r\n");
    };
    BOOST_TEST(with(header_fields_max) == 200);
    BOOST_TEST(with(header_fields_max + 1) == 431);
}

BOOST_AUTO_TEST_CASE(absolute_target_is_its_path_when_the_host_says_the_same) {
    const auto path_of = [](std::string_view line, std::string_view host) {
        RequestParser parser(1'000, 100);
        const std::string request = std::string(line) + " HTTP/1.1\r\nHost: " + std::string(host) + "\r\n\r\n";
        if (!feed_all(parser, request, request.size())) return std::to_string(parser.fault().status);
        const HttpRequest taken = parser.take();
        return taken.path + " " + taken.query;
    };
    BOOST_TEST(path_of("GET http://h:8000/v1/models?a=b", "h:8000") == "/v1/models a=b");
    BOOST_TEST(path_of("GET HTTP://H:80/", "h") == "/ ");
    BOOST_TEST(path_of("GET https://[::1]/x", "[::1]:443") == "/x ");
    BOOST_TEST(path_of("GET http://h", "h") == "/ ");
    BOOST_TEST(path_of("GET http://h?q", "h") == " q");
    BOOST_TEST(path_of("OPTIONS *", "h") == "* ");
    for (const char* line : {"GET http://other/", "GET http://user@h/", "GET http:///", "GET ftp://h/", "GET h/",
                             "GET *", "CONNECT h:80", "GET /a#b", "GET http://h:81/"})
        BOOST_TEST(path_of(line, "h") == "400", line);
    for (const char* host : {"a b", "h/x", "user@h", "a,b"}) BOOST_TEST(path_of("GET /", host) == "400", host);
}

BOOST_AUTO_TEST_CASE(fields_of_a_refused_request_can_still_be_asked_for) {
    RequestParser parser(1'000, 100);
    BOOST_TEST(!feed_all(parser, "POST / HTTP/1.1\r\nX-Id: 7\r\nHost: h\r\nContent-Length: 101\r\n\r\n", 1'000));
    BOOST_TEST(parser.fault().status == 413);
    BOOST_TEST(parser.field("x-id") == "7");
    BOOST_TEST(parser.field("x-other") == "");
}

BOOST_AUTO_TEST_CASE(host_is_needed_once_by_1_1_and_not_by_1_0) {
    BOOST_TEST(status_of("GET / HTTP/1.1\r\n\r\n") == 400);
    BOOST_TEST(status_of("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n") == 400);
    BOOST_TEST(status_of("GET / HTTP/1.0\r\n\r\n") == 200);
    BOOST_TEST(status_of("GET / HTTP/2.0\r\nHost: a\r\n\r\n") != 200);
}

BOOST_AUTO_TEST_CASE(keep_alive_follows_version_and_connection_field) {
    auto keeps = [](std::string_view bytes) {
        RequestParser parser(1'000, 100);
        BOOST_TEST_REQUIRE(feed_all(parser, bytes, 1'000));
        return parser.take().keep_alive;
    };
    BOOST_TEST(keeps("GET / HTTP/1.1\r\nHost: h\r\n\r\n"));
    BOOST_TEST(!keeps("GET / HTTP/1.1\r\nHost: h\r\nConnection: Close\r\n\r\n"));
    BOOST_TEST(!keeps("GET / HTTP/1.0\r\n\r\n"));
    BOOST_TEST(keeps("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"));
}

BOOST_AUTO_TEST_CASE(expect_is_only_understood_from_1_1) {
    RequestParser modern(1'000, 100);
    feed_all(modern, "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-Continue\r\nContent-Length: 1\r\n\r\n", 1'000);
    BOOST_TEST(modern.header_done());
    BOOST_TEST(!modern.done());
    BOOST_TEST(modern.expects_continue());
    RequestParser old(1'000, 100);
    feed_all(old, "POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n", 1'000);
    BOOST_TEST(!old.expects_continue());
    BOOST_TEST(!old.knows_chunks());
}

BOOST_AUTO_TEST_SUITE_END()
