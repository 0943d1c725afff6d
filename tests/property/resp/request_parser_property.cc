// Requests come out the same however the network cuts them, and no bytes at all do harm.
#include "resp/request_parser.h"

#include <rapidcheck.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "base/bytes.h"

using namespace exa;
using namespace exa::resp;

namespace {

std::optional<Body> some_body(const Request&, std::uint64_t bytes) {
    const auto memory = std::make_shared<Bytes>(std::min<std::uint64_t>(bytes, 100));
    return Body{memory, *memory};
}

// What came out, each argument with its body in its place.
std::vector<std::vector<std::string>> parse(const std::string& text, const std::vector<std::size_t>& cuts,
                                            bool* broken = nullptr) {
    ParserLimits limits;
    limits.large_min = 64;
    ArgumentBudget budget;
    RequestParser parser(limits, some_body, budget);
    std::vector<std::vector<std::string>> requests;
    std::size_t at = 0;
    for (std::size_t turn = 0; at < text.size(); ++turn) {
        std::size_t left = std::min(cuts.empty() ? text.size() : cuts[turn % cuts.size()], text.size() - at);
        std::size_t filled = 0;
        for (const auto& room : parser.buffers()) {
            const std::size_t part = std::min(left, room.size());
            std::copy_n(text.begin() + static_cast<std::ptrdiff_t>(at + filled), part, room.begin());
            filled += part;
            left -= part;
        }
        parser.commit(filled);
        at += filled;
        while (auto request = parser.next()) {
            std::string body;
            for (const Body& piece : request->bodies) body += as_text(piece.bytes);
            for (std::string& argument : request->arguments)
                if (argument.empty() && !body.empty()) std::swap(argument, body);
            requests.push_back(request->arguments);
        }
        if (parser.broken()) break;
    }
    if (broken != nullptr) *broken = parser.broken();
    return requests;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(request_parser_property)

BOOST_AUTO_TEST_CASE(cuts_change_nothing) {
    const bool held = rc::check([] {
        std::vector<std::vector<std::string>> asked;
        std::string text;
        const auto count = *rc::gen::inRange(1, 6);
        for (int i = 0; i < count; ++i) {
            std::vector<std::string> words;
            const auto large = *rc::gen::inRange(0, 6);
            for (int w = 0; w < *rc::gen::inRange(1, 5); ++w) {
                const auto size = w == large ? *rc::gen::inRange(64, 500) : *rc::gen::inRange(1, 63);
                words.push_back(
                    *rc::gen::container<std::string>(static_cast<std::size_t>(size), rc::gen::arbitrary<char>()));
            }
            text += "*" + std::to_string(words.size()) + "\r\n";
            for (const std::string& word : words) text += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
            asked.push_back(words);
        }
        const auto cuts = *rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(1, 80));
        RC_ASSERT(parse(text, cuts) == asked);
    });
    BOOST_TEST(held);
}

BOOST_AUTO_TEST_CASE(any_bytes_end_in_requests_or_a_broken_connection_alike_however_cut) {
    const bool held = rc::check([] {
        const auto text =
            *rc::gen::container<std::string>(rc::gen::element('*', '$', '1', '2', '9', '\r', '\n', 'a', ' '));
        const auto cuts = *rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(1, 5));
        bool whole = false, cut = false;
        const auto requests = parse(text, {}, &whole);
        RC_ASSERT(parse(text, cuts, &cut) == requests);
        RC_ASSERT(whole == cut);
    });
    BOOST_TEST(held);
}

BOOST_AUTO_TEST_SUITE_END()
