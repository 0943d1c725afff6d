// Relay: one client's request over all its attempts: what is sent to a replica, what came back, what the client has
// got.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "app/replica/reply.h"
#include "io/http/server.h"
#include "openai/error.h"
#include "router/answer_ledger.h"
#include "router/dispatcher.h"

namespace exa::app {

// How an attempt ended.
enum class Outcome : std::uint8_t {
    finished,
    client_gone,
    busy,
    draining,
    refused,
    suspect,  // silent, and its peer is suspected of being down
    unfit,
    no_place,
    connect_failed,
    link_broken,
    timed_out,
    failed,
};

class Relay {
  public:
    // `open` is the request as every attempt sends it, but for the replica. The exchange outlives it.
    Relay(io::HttpExchange& exchange, wire::Open open) : exchange_(exchange), open_(std::move(open)) {}

    const router::Attempt& attempt() const { return attempt_; }
    // What begin() gave; before that, the request as it came.
    const wire::Open& open() const { return open_; }
    // What rode on the end of the last attempt, if anything did.
    const std::optional<wire::LoadReport>& load() const { return load_; }
    // Of the answer as the client has it, in all its choices; what an attempt made in vain does not count.
    std::uint64_t answer_tokens() const { return ledger_.tokens(); }
    // Of those, what the current attempt gave.
    std::uint64_t progress() const { return ledger_.progress(); }
    // The shortest time after which a replica that was busy wants to be asked again; 0: none said so.
    Duration retry_after() const { return retry_after_; }
    // Whether an answer that breaks can say so itself: a stream of events can.
    bool is_event_stream() const { return !whole_started_; }
    // Why the last attempt failed, for people.
    const std::string& failure() const { return failure_; }
    void set_failure(std::string failure) { failure_ = std::move(failure); }

    // What the client of a stream that breaks gets last.
    std::string error_event(const openai::ApiError& error) const;

    // Begins an attempt; returns what to send, which is valid until the next one. A stream that the client has seen a
    // part of resumes from the tokens of each of its choices. So does an answer in one piece, if the replica is of the
    // same numerics.
    const wire::Open& begin(router::Attempt attempt);

    // Takes one part of the reply and passes on to the client what can be passed on. Nothing while more is to come.
    std::optional<Outcome> take(ReplyPart part);

  private:
    std::optional<Outcome> take_head(wire::Head head);
    std::optional<Outcome> take_data(wire::Data data);
    std::optional<Outcome> take_end(wire::End end);
    // Begins to pass on an answer in one piece before all of it is there.
    std::optional<Outcome> start_whole();
    io::HttpHeaders fields_of(const wire::Head& head) const;

    io::HttpExchange& exchange_;
    wire::Open open_;  // as every attempt sends it, but for the tokens
    router::AnswerLedger ledger_{wire::choices_max};
    std::string session_token_;  // minted here; empty when the client brought a session
    router::Attempt attempt_;
    int status_ = 200;        // of the current attempt's head, as the following are
    io::HttpHeaders fields_;  // what the client gets of it, beside what its server says itself
    std::optional<std::uint64_t> content_length_;
    std::string whole_body_;      // of an answer that is not a stream
    bool whole_started_ = false;  // such an answer is passed on as it comes
    std::optional<wire::LoadReport> load_;
    Duration retry_after_{0};
    std::string failure_;
};

}  // namespace exa::app
