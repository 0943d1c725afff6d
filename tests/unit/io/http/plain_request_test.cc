#include "io/http/plain_request.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cctype>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/rng.h"
#include "io/http/request_parser.h"
#include "support/print.h"

using namespace exa::io;
using namespace exa::io::http;

namespace {

constexpr std::uint32_t header_max = 1'000;
constexpr std::uint64_t body_max = 100;

bool is_plain(std::string_view bytes) {
    HttpRequest request;
    return read_plain_request(bytes, header_max, body_max, request).has_value();
}

// Fields by name, those of one name in their order: where they stand among others says nothing.
std::multimap<std::string, std::string> fields_of(const HttpRequest& request) {
    std::multimap<std::string, std::string> fields;
    for (const auto& [name, value] : request.headers) {
        std::string lower(name);
        std::ranges::transform(lower, lower.begin(), [](char c) { return static_cast<char>(std::tolower(c)); });
        fields.emplace(std::move(lower), value);  // behind those of the same name
    }
    return fields;
}

// What the judge makes of the same bytes, given one at a time: so it never sees a plain request whole.
std::optional<HttpRequest> judged(std::string_view bytes, std::size_t& taken) {
    RequestParser parser(header_max, body_max);
    std::string inbox;
    taken = 0;
    for (const char c : bytes) {
        inbox += c;
        const auto step = parser.feed(inbox);
        if (!step) return std::nullopt;
        inbox.erase(0, *step);
        taken += *step;
        if (parser.done()) return parser.take();
    }
    return std::nullopt;
}

void must_agree(const std::string& bytes) {
    HttpRequest plain;
    const auto taken = read_plain_request(bytes, header_max, body_max, plain);
    if (!taken) return;
    std::size_t by_judge = 0;
    const auto other = judged(bytes, by_judge);
    BOOST_TEST_REQUIRE(other.has_value(), bytes);
    BOOST_TEST(*taken == by_judge, bytes);
    BOOST_TEST(plain.method == other->method);
    BOOST_TEST(plain.path == other->path);
    BOOST_TEST(plain.query == other->query);
    BOOST_TEST(plain.body == other->body);
    BOOST_TEST(plain.keep_alive == other->keep_alive, bytes);
    BOOST_TEST(fields_of(plain) == fields_of(*other), bytes);
}

const std::string post =
    "POST /v1/chat/completions?a=b HTTP/1.1\r\nHost: h.example:80\r\nContent-Type:application/json \r\n"
    "X-Session-Id:  s 1\r\nConnection: Keep-Alive\r\nAccept: */*\r\nAccept: a/b\r\nContent-Length: 5\r\n\r\nhello";

}  // namespace

BOOST_AUTO_TEST_SUITE(plain_request)

BOOST_AUTO_TEST_CASE(a_whole_request_is_taken_and_no_byte_more) {
    HttpRequest request;
    const auto taken = read_plain_request(post + "GET ", header_max, body_max, request);
    BOOST_TEST(taken == post.size());
    BOOST_TEST(request.path == "/v1/chat/completions");
    BOOST_TEST(request.query == "a=b");
    BOOST_TEST(request.body == "hello");
    BOOST_TEST(request.headers.find("x-session-id") == "s 1");
    must_agree(post);
}

BOOST_AUTO_TEST_CASE(a_request_that_is_not_all_there_is_left_alone) {
    for (std::size_t size = 0; size < post.size(); ++size) BOOST_TEST(!is_plain(post.substr(0, size)));
}

BOOST_AUTO_TEST_CASE(what_needs_a_judgement_is_left_to_the_judge) {
    for (const char* fields : {"",
                               "Host: h\r\nHost: h\r\n",
                               "Host:\r\n",
                               "Host: a/b\r\n",
                               "Host: h\r\nTransfer-Encoding: chunked\r\n",
                               "Host: h\r\nContent-Length: 1\r\nContent-Length: 1\r\n",
                               "Host: h\r\nContent-Length: +1\r\n",
                               "Host: h\r\nContent-Length: 0x1\r\n",
                               "Host: h\r\nContent-Length:\r\n",
                               "Host: h\r\nContent-Length: 101\r\n",
                               "Host: h\r\nContent-Length: 18446744073709551617\r\n",
                               "Host: h\r\nExpect: 100-continue\r\n",
                               "Host: h\r\nConnection: close\r\n",
                               "Host: h\r\nConnection: keep-alive, x\r\n",
                               "Host: h\r\nUpgrade: h2c\r\n",
                               "Host: h\r\nContent-Encoding: gzip\r\n",
                               "Host: h\r\nX : y\r\n",
                               "Host: h\r\n: y\r\n",
                               "Host: h\r\nX\r\n",
                               "Host: h\r\nX: a\tb\r\n",
                               "Host: h\r\nX: \x80\r\n",
                               "Host: h\r\n folded\r\n",
                               "Host: h\nX: y\r\n"})
        BOOST_TEST(!is_plain(std::string("POST / HTTP/1.1\r\n") + fields + "\r\nabcdefgh"), fields);
    for (const char* line :
         {"PUT / HTTP/1.1", "get / HTTP/1.1", "GET / HTTP/1.0", "GET  / HTTP/1.1", "GET /  HTTP/1.1", "GET HTTP/1.1",
          "GET http://h/ HTTP/1.1", "GET /#a HTTP/1.1", "GET /\x80 HTTP/1.1", "GET /"})
        BOOST_TEST(!is_plain(std::string(line) + "\r\nHost: h\r\n\r\n"), line);
    std::string many = "GET / HTTP/1.1\r\nHost: h\r\n";
    for (std::size_t i = 0; i < header_fields_max; ++i) many += "a:b\r\n";
    HttpRequest request;
    BOOST_TEST(!read_plain_request(many + "\r\n", 64 * 1024, body_max, request).has_value());
    BOOST_TEST(!is_plain("GET / HTTP/1.1\r\nHost: h\r\nX: " + std::string(header_max, 'x') + "\r\n\r\n"));
}

// A byte changed, dropped, doubled or put in anywhere: either it is no longer plain, or the judge says the same.
BOOST_AUTO_TEST_CASE(a_damaged_request_is_taken_only_as_the_judge_would) {
    const std::string alphabet = "\r\n \t:,;/?#%aAzZ019.-_\x80{\"" + std::string(1, '\0');
    exa::Rng rng(7);
    int plain = 0;
    for (int round = 0; round < 20'000; ++round) {
        std::string bytes = post;
        for (std::uint64_t changes = 1 + rng.next() % 3; changes > 0; --changes) {
            const std::size_t at = rng.next() % bytes.size();
            const char c = alphabet[rng.next() % alphabet.size()];
            switch (rng.next() % 4) {
                case 0:
                    bytes[at] = c;
                    break;
                case 1:
                    bytes.erase(at, 1);
                    break;
                case 2:
                    bytes.insert(at, 1, c);
                    break;
                default:
                    bytes.insert(at, bytes.substr(at, rng.next() % 12));
            }
        }
        plain += is_plain(bytes);
        must_agree(bytes);
    }
    BOOST_TEST(plain > 1'000);
}

BOOST_AUTO_TEST_SUITE_END()
