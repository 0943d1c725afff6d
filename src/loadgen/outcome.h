// Outcome: what became of one request, with its times.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"

namespace exa::loadgen {

// In the order of the report. A request has one; retries that were asked for do not count.
enum class Failure : std::uint8_t {
    none,
    status,              // an answer other than 2xx; the status says which
    refused,             // nothing listens at the target
    connect_timeout,     // no connection in time
    unreachable,         // no route, no name, no descriptor: no connection for another reason
    first_byte_timeout,  // connected and sent, and then silence
    idle_timeout,        // silence in the middle of an answer
    reset,               // the connection ended before the answer did
    malformed,           // not HTTP
    bad_answer,          // HTTP, but not the JSON or the events that were asked for
    error_event,         // a stream that told of an error
    truncated,           // a stream without its [DONE]
    unfinished,          // the run ended before the answer did
    overflow,            // never sent: too many were in flight already
};

inline constexpr std::size_t failure_kinds = 14;

// As the report names it: "first_byte_timeout".
std::string_view to_string(Failure failure);

struct Outcome {
    TimePoint intended;               // when it was due; latencies count from here
    TimePoint done;                   // its last byte, or when it failed
    std::optional<Duration> ttft;     // until its first token; for an answer in one piece, until that
    Duration stall{};                 // the longest wait for a byte of text, the first included
    std::uint64_t gaps = 0;           // between tokens
    std::uint64_t late_gaps = 0;      // of them, those over the objective
    std::uint64_t events = 0;         // of a stream that carried text; 1 for an answer in one piece
    std::uint64_t prompt_tokens = 0;  // as the server counts; 0 when it does not say
    std::uint64_t output_tokens = 0;  // as the server counts, else `events`
    std::uint32_t target = 0;         // its place among the targets
    Failure failure = Failure::none;
    int status = 0;       // 0 when there was no answer
    std::string message;  // of the failure; bounded

    Duration e2e() const { return done - intended; }
    bool ok() const { return failure == Failure::none; }
};

// What a user is promised.
struct Slo {
    Duration ttft = std::chrono::seconds(2);
    // Of the times between a request's tokens, 99 % are not above this.
    Duration tbt = std::chrono::milliseconds(250);
    // A run or a step holds when at least this share of its requests meets both.
    double share = 0.99;

    // Failures never meet it. An answer in one piece has no times between tokens.
    bool is_met(const Outcome& outcome) const;
};

}  // namespace exa::loadgen
