// What must hold of a request at its ingress, whatever happens in whatever order, late and repeated events included:
// one Done and nothing after it (Q1), a client's bytes in order with one head and at most one end (Q2), one attempt at
// a time, and a dispatcher that forgets it.
#include <rapidcheck.h>

#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "unit/gateway/harness.h"

using namespace exa;
using namespace exa::gateway;
using namespace exa::gateway::test;
using namespace std::chrono_literals;

namespace {

// The client's side: what it was sent, checked as it comes.
class Client {
  public:
    void take(const Actions& actions) {
        for (const Action& action : actions) {
            RC_ASSERT(!done_);
            if (std::holds_alternative<OpenStream>(action) || std::holds_alternative<OpenLocal>(action)) {
                RC_ASSERT(!open_);
                open_ = true;
            } else if (std::holds_alternative<Cancel>(action)) {
                RC_ASSERT(open_);
                open_ = false;
            } else if (const auto* head = std::get_if<SendHead>(&action)) {
                RC_ASSERT(!head_ && !error_);
                head_ = true;
                stream_ = head->is_event_stream;
            } else if (const auto* body = std::get_if<SendBody>(&action)) {
                RC_ASSERT(head_ && !end_);
                text_ += body->bytes;
            } else if (std::holds_alternative<SendEnd>(action)) {
                RC_ASSERT(head_ && !end_);
                end_ = true;
            } else if (std::holds_alternative<SendError>(action)) {
                RC_ASSERT(!head_ && !error_);
                error_ = true;
            } else {
                RC_ASSERT(!open_);
                done_ = true;
            }
        }
    }

    bool done() const { return done_; }
    // The tokens of the stream, which are 0, 1, 2 ... each with a semicolon; then, perhaps, an error event.
    void check_text() const {
        std::string expected;
        std::uint32_t next = 0;
        const std::string tokens = text_.substr(0, text_.find("data: {\"error\""));
        while (expected.size() < tokens.size()) expected += std::to_string(next++) + ";";
        RC_ASSERT(expected == tokens);
    }

  private:
    bool open_ = false;
    bool head_ = false;
    bool stream_ = false;
    bool end_ = false;
    bool error_ = false;
    bool done_ = false;
    std::string text_;
};

// One request under random events. Replicas tell the truth about token offsets, or lie now and then.
class Storm {
  public:
    Storm(std::uint64_t seed, bool stream) : harness_(4), rng_(seed), stream_(stream) {
        for (std::uint64_t peer = 2; peer <= 4; ++peer)
            harness_.cluster.replica(peer, 0).numerics = rng_.below(3) == 0 ? "" : "n";
        harness_.dispatcher.handle_view(harness_.cluster.routing_view());
        harness_.begin();
        absorb();
    }

    void run() {
        for (int steps = 0; steps < 400 && !client_.done(); ++steps) step();
        if (!client_.done()) harness_.request.handle_client_gone(harness_.now, harness_.actions);
        absorb();
        RC_ASSERT(client_.done());
        RC_ASSERT(harness_.request.done());
        RC_ASSERT(harness_.request.next_timeout() == time_never);
        client_.check_text();
        RC_ASSERT(harness_.dispatcher.in_flight() == 0U);
        const router::Counters& counters = harness_.dispatcher.counters();
        RC_ASSERT(counters.finished + counters.rejected + counters.broken + counters.abandoned == counters.begun);
        for (int i = 0; i < 30; ++i) event(1 + static_cast<AttemptNumber>(rng_.below(6)));
        RC_ASSERT(harness_.actions.empty());
    }

  private:
    void step() {
        harness_.now += Duration(static_cast<Duration::rep>(rng_.below(200'000)));
        // One event in five is about another attempt than the current one.
        AttemptNumber attempt = harness_.number();
        if (rng_.below(5) == 0) attempt = static_cast<AttemptNumber>(rng_.below(attempt + 2));
        event(attempt);
        absorb();
    }

    void event(AttemptNumber attempt) {
        Request& request = harness_.request;
        const bool is_current = attempt == harness_.number();
        switch (rng_.below(14)) {
            case 0:
            case 1:
                if (is_current) opened_ = attempt;
                return request.handle_opened(attempt);
            case 2:
                if (rng_.below(4) != 0) return;
                return request.handle_open_failed(harness_.now, attempt, static_cast<OpenFailure>(rng_.below(4)), "x",
                                                  harness_.actions);
            case 3:
            case 4:
                // A reply has one head, and only a stream that was opened has a reply.
                if (is_current && (headed_ == attempt || opened_ != attempt)) return;
                if (is_current) headed_ = attempt;
                return request.handle_head(harness_.now, attempt, stream_ ? stream_head() : json_head(),
                                           harness_.actions);
            case 5:
            case 6:
            case 7:
            case 8:
                return data(attempt, is_current);
            case 9:
                if (rng_.below(4) != 0) return;
                return request.handle_end(harness_.now, attempt, {static_cast<wire::EndCode>(rng_.below(10)), "why"},
                                          harness_.actions);
            case 10:
                if (rng_.below(4) != 0) return;
                return request.handle_broken(harness_.now, attempt, "reset", harness_.actions);
            case 11:
                return request.handle_drained(harness_.now);
            case 12:
                suspect();
                return request.handle_timeout(harness_.now, harness_.actions);
            default:
                if (rng_.below(40) == 0) return request.handle_client_gone(harness_.now, harness_.actions);
                return request.handle_client_slow();
        }
    }

    // A replica begins where its ingress asked it to.
    void data(AttemptNumber attempt, bool is_current) {
        if (is_current && headed_ != attempt) return;
        const bool begins = is_current && begun_ != attempt;
        if (begins) {
            begun_ = attempt;
            next_ = static_cast<std::uint32_t>(harness_.request.open().choices.front().size());
        }
        const std::uint32_t next_before = next_;
        std::vector<std::uint32_t> ids;
        const bool lies = rng_.below(30) == 0;
        const std::uint32_t first = next_ + (lies ? 1 : 0);
        for (std::uint32_t i = 0; i < 1 + rng_.below(3); ++i) ids.push_back(first + i);
        if (is_current && !lies) next_ += static_cast<std::uint32_t>(ids.size());
        wire::Data piece = tokens(first, std::move(ids));
        // An answer in one piece is rendered whole again.
        if (begins && !stream_)
            for (std::uint32_t id = next_before; id-- > 0;) piece.bytes.insert(0, std::to_string(id) + ";");
        harness_.request.handle_data(harness_.now, attempt, std::move(piece), harness_.actions);
    }

    void suspect() {
        const std::uint64_t peer = 2 + rng_.below(3);
        harness_.cluster.peer(peer).liveness =
            rng_.below(2) == 0 ? membership::Liveness::suspect : membership::Liveness::alive;
        harness_.dispatcher.handle_view(harness_.cluster.routing_view());
    }

    void absorb() {
        client_.take(harness_.actions);
        harness_.actions.clear();
    }

    Harness harness_;
    Rng rng_;
    const bool stream_;
    Client client_;
    AttemptNumber opened_ = 0;
    AttemptNumber headed_ = 0;
    AttemptNumber begun_ = 0;
    std::uint32_t next_ = 0;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(gateway_request_property)

BOOST_AUTO_TEST_CASE(any_order_of_events_gives_one_outcome_and_an_unbroken_answer) {
    BOOST_TEST(rc::check([](std::uint64_t seed) { Storm(seed, true).run(); }));
}

BOOST_AUTO_TEST_CASE(so_does_an_answer_in_one_piece) {
    BOOST_TEST(rc::check([](std::uint64_t seed) { Storm(seed, false).run(); }));
}

BOOST_AUTO_TEST_SUITE_END()
