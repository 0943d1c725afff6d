#include "gateway/response_forwarder.h"

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <string>
#include <variant>
#include <vector>

#include "support/print.h"

using namespace exa;
using namespace exa::gateway;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(gateway_response_forwarder)

namespace {

constexpr std::uint64_t numerics = 7;
using Tokens = std::vector<std::uint32_t>;

struct Forwarding {
    ResponseForwarder forwarder{Mutant::none};
    wire::Open open;
    Actions actions;

    explicit Forwarding(std::uint64_t first = numerics) { begin(first); }

    void begin(std::uint64_t of) { forwarder.begin(ReplicaId{{1}, {2}, 0}, of, "", open); }
    std::optional<Outcome> stream_head() {
        return forwarder.take(wire::Head{.content_type = "text/event-stream"}, actions);
    }
    std::optional<Outcome> data(std::uint32_t offset, Tokens tokens, std::string bytes) {
        return forwarder.take(wire::Data{offset, std::move(tokens), std::move(bytes)}, actions);
    }
    std::optional<Outcome> end(wire::EndCode code) { return forwarder.take(wire::End{.code = code}, actions); }
    // The bodies that the client has been sent, in order.
    std::string sent() const {
        std::string all;
        for (const Action& action : actions)
            if (const auto* body = std::get_if<SendBody>(&action)) all += body->bytes;
        return all;
    }
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_stream_is_passed_on_as_it_comes) {
    Forwarding one;
    BOOST_TEST(one.stream_head() == std::nullopt);
    BOOST_TEST(one.forwarder.started());
    BOOST_TEST(std::get<SendHead>(one.actions.at(0)).is_event_stream);
    BOOST_TEST(one.data(0, {11}, "a") == std::nullopt);
    BOOST_TEST(one.sent() == "a");
    BOOST_TEST(one.end(wire::EndCode::ok) == Outcome::finished);
    BOOST_TEST(std::holds_alternative<SendEnd>(one.actions.back()));
}

BOOST_AUTO_TEST_CASE(the_next_replica_continues_from_the_clients_tokens) {
    Forwarding one;
    one.stream_head();
    one.data(0, {11, 12}, "ab");
    BOOST_TEST(one.end(wire::EndCode::draining) == Outcome::draining);
    one.begin(numerics);
    BOOST_TEST(one.open.resumed);
    BOOST_TEST(one.open.choices == (std::vector<Tokens>{{11, 12}}));
    one.stream_head();
    BOOST_TEST(one.data(2, {13}, "c") == std::nullopt);
    BOOST_TEST(one.sent() == "abc");
    BOOST_TEST(one.forwarder.answer_tokens() == 3U);
    BOOST_TEST(one.forwarder.progress() == 1U);
}

BOOST_AUTO_TEST_CASE(tokens_that_repeat_or_skip_fail_the_attempt) {
    for (const std::uint32_t offset : {0U, 2U}) {
        Forwarding one;
        one.stream_head();
        one.data(0, {11}, "a");
        BOOST_TEST(one.data(offset, {12}, "x") == Outcome::failed);
        BOOST_TEST(one.sent() == "a");
    }
}

BOOST_AUTO_TEST_CASE(an_answer_in_one_piece_is_held_back_until_it_is_complete) {
    Forwarding one;
    one.forwarder.take(wire::Head{.content_type = "application/json"}, one.actions);
    one.data(0, {11}, "{");
    one.data(1, {12}, "}");
    BOOST_TEST(one.actions.empty());
    BOOST_TEST(!one.forwarder.started());
    BOOST_TEST(one.end(wire::EndCode::ok) == Outcome::finished);
    BOOST_TEST(std::get<SendHead>(one.actions.at(0)).content_length == std::optional<std::uint64_t>(2));
    BOOST_TEST(one.sent() == "{}");
}

BOOST_AUTO_TEST_CASE(a_failed_answer_in_one_piece_leaves_nothing_behind) {
    Forwarding one;
    one.forwarder.take(wire::Head{.content_type = "application/json"}, one.actions);
    one.data(0, {11}, "{");
    BOOST_TEST(one.end(wire::EndCode::failed) == Outcome::failed);
    BOOST_TEST(one.actions.empty());
}

BOOST_AUTO_TEST_CASE(a_long_answer_without_tokens_starts_before_its_end) {
    Forwarding one(0);
    one.forwarder.take(wire::Head{.content_type = "application/json"}, one.actions);
    one.data(0, {}, std::string(64 * 1024, 'x'));
    BOOST_TEST(one.actions.empty());
    one.data(0, {}, "y");
    BOOST_TEST(one.forwarder.started());
    BOOST_TEST(!one.forwarder.is_event_stream());
    BOOST_TEST(one.sent().size() == 64 * 1024 + 1U);
}

BOOST_AUTO_TEST_CASE(a_refusal_has_no_place_in_a_stream_that_has_begun) {
    Forwarding one;
    one.stream_head();
    one.data(0, {11}, "a");
    one.begin(numerics);
    BOOST_TEST(one.forwarder.take(wire::Head{.status = 400, .content_type = "application/json"}, one.actions) ==
               Outcome::failed);
    BOOST_TEST(one.sent() == "a");
}

BOOST_AUTO_TEST_CASE(the_shortest_wait_that_a_busy_replica_names_is_kept) {
    Forwarding one;
    one.forwarder.take(wire::End{.code = wire::EndCode::busy, .retry_after = 3s}, one.actions);
    one.begin(numerics);
    one.forwarder.take(wire::End{.code = wire::EndCode::busy, .retry_after = 1s}, one.actions);
    one.begin(numerics);
    one.forwarder.take(wire::End{.code = wire::EndCode::busy}, one.actions);
    BOOST_TEST(one.forwarder.retry_after() == 1s);
}

BOOST_AUTO_TEST_SUITE_END()
