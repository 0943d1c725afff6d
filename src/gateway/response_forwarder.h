// ResponseForwarder: what the client of one request has been sent, over all attempts, and so what the next attempt's
// replica is to go on from.
//
// A stream of events is passed on as it comes. An answer in one piece is held back until it is complete, so that
// another replica can be tried; one that carries no tokens (of an attached server) is passed on as it comes once it
// exceeds 64 KiB.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/mutant.h"
#include "base/time.h"
#include "gateway/action.h"
#include "gateway/outcome.h"
#include "router/stream_progress.h"
#include "wire/link_messages.h"

namespace exa::gateway {

class ResponseForwarder {
  public:
    explicit ResponseForwarder(Mutant mutant) : mutant_(mutant) {}

    // The client has been sent a head.
    bool started() const { return started_; }
    // It can be told of an error in the middle: a stream of events, not an answer in one piece.
    bool is_event_stream() const { return !whole_started_; }
    // Tokens that the client has, over all choices; those that a failed attempt made and the client never saw do not.
    std::uint64_t answer_tokens() const { return progress_.tokens(); }
    // Of those, the current attempt's.
    std::uint64_t progress() const { return progress_.progress(); }
    // Of the current attempt's head; 200 before there is one.
    int status() const { return head_.status; }
    // What rode on the end of the last attempt, if anything did.
    const std::optional<wire::LoadReport>& load() const { return load_; }
    // The shortest time that a busy replica named; 0: none did.
    Duration retry_after() const { return retry_after_; }
    // Why the last attempt failed, for people.
    const std::string& failure() const { return failure_; }
    void set_failure(std::string failure) { failure_ = std::move(failure); }
    // The event that ends a broken stream.
    std::string error_event(const openai::ApiError& error, wire::RequestKind kind) const;

    // An attempt begins at a replica of these numerics (a hash; 0: none declared). `open` gets what it is to go on
    // from. `session_token`: minted for it; empty: the one of before stands.
    void begin(ReplicaId replica, std::uint64_t numerics, std::string session_token, wire::Open& open);

    // Take one part of the reply and add what the client gets of it. Nothing while more is to come.
    std::optional<Outcome> take(wire::Head head, Actions& actions);
    std::optional<Outcome> take(wire::Data data, Actions& actions);
    std::optional<Outcome> take(wire::End end, Actions& actions);

  private:
    void send_head(std::optional<std::uint64_t> content_length, bool is_event_stream, Actions& actions);

    const Mutant mutant_;
    router::StreamProgress progress_{wire::choices_max};
    ReplicaId replica_;
    std::uint64_t numerics_ = 0;
    std::string session_token_;
    wire::Head head_;         // of the current attempt
    std::string whole_body_;  // held back
    bool started_ = false;
    bool whole_started_ = false;  // an answer in one piece is passed on as it comes
    std::optional<wire::LoadReport> load_;
    Duration retry_after_{0};
    std::string failure_;
};

}  // namespace exa::gateway
