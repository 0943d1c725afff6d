#include "app/door/relay.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "openai/answer.h"
#include "openai/responses_stream.h"

namespace exa::app {

namespace {

// An answer in one piece that is no longer than this goes out when it is complete: until then another replica can be
// tried.
constexpr std::size_t whole_bytes_max = 64 * 1024;

Outcome outcome_of(wire::EndCode code) {
    switch (code) {
        case wire::EndCode::ok:
            return Outcome::finished;
        case wire::EndCode::busy:
            return Outcome::busy;
        case wire::EndCode::draining:
        case wire::EndCode::cancelled:  // its engine stops
            return Outcome::draining;
        case wire::EndCode::not_found:
        case wire::EndCode::wrong_version:
        case wire::EndCode::not_supported:
            return Outcome::refused;
        case wire::EndCode::deadline:
            return Outcome::no_place;
        case wire::EndCode::too_long:
            return Outcome::unfit;
        case wire::EndCode::failed:
            return Outcome::failed;
    }
    return Outcome::failed;
}

}  // namespace

const wire::Open& Relay::begin(router::Attempt attempt) {
    attempt_ = std::move(attempt);
    if (!attempt_.session_token.empty()) session_token_ = std::move(attempt_.session_token);
    status_ = 200;
    fields_ = {};
    content_length_.reset();
    whole_body_.clear();
    load_.reset();
    open_.replica = attempt_.replica;
    open_.session_position = attempt_.position;
    open_.queue_wait = attempt_.queue_wait;
    open_.resumed = ledger_.begin(attempt_.numerics);
    open_.choices = ledger_.choices();
    return open_;
}

std::string Relay::error_event(const openai::ApiError& error) const {
    if (open_.kind != wire::RequestKind::response) return openai::error_event(error);
    // Behind those of all events so far: four before the first token, and at most one a token.
    return openai::response_error_event(error, ledger_.choices().front().size() + 4);
}

std::optional<Outcome> Relay::take(ReplyPart part) {
    if (auto* head = std::get_if<wire::Head>(&part)) return take_head(std::move(*head));
    if (auto* data = std::get_if<wire::Data>(&part)) return take_data(std::move(*data));
    return take_end(std::get<wire::End>(std::move(part)));
}

std::optional<Outcome> Relay::take_head(wire::Head head) {
    const bool is_stream = head.status == 200 && head.content_type == "text/event-stream";
    if (!exchange_.started()) {
        status_ = head.status;
        fields_ = fields_of(head);
        content_length_ = head.content_length;
        if (!is_stream) return std::nullopt;
        fields_.add("cache-control", "no-cache");
        ledger_.promise();
        exchange_.push_head(status_, std::move(fields_));
        return std::nullopt;
    }
    if (is_stream) return std::nullopt;
    // Such as a 400 of a replica with less context: JSON has no place in the stream that goes on.
    failure_ = fmt::format("the stream cannot go on there: status {}", head.status);
    return Outcome::failed;
}

std::optional<Outcome> Relay::take_data(wire::Data data) {
    if (!data.tokens.empty() && !ledger_.take(data.choice, data.offset, data.tokens)) {
        failure_ = "the answer's token offsets are not contiguous";
        return Outcome::failed;
    }
    if (!exchange_.started()) {
        if (whole_body_.empty())
            whole_body_ = std::move(data.bytes);
        else
            whole_body_ += data.bytes;
        // Without tokens it could not go on elsewhere anyway, and it may be of any size.
        if (attempt_.numerics == 0 && whole_body_.size() > whole_bytes_max) return start_whole();
        return std::nullopt;
    }
    if (!data.bytes.empty()) exchange_.push_body(std::move(data.bytes));
    return std::nullopt;
}

std::optional<Outcome> Relay::start_whole() {
    whole_started_ = true;
    ledger_.promise();
    exchange_.push_head(status_, std::move(fields_), content_length_);
    exchange_.push_body(std::exchange(whole_body_, {}));
    return std::nullopt;
}

std::optional<Outcome> Relay::take_end(wire::End end) {
    load_ = end.load;
    failure_ = std::move(end.message);
    if (end.code == wire::EndCode::busy && end.retry_after > Duration(0))
        retry_after_ = retry_after_ == Duration(0) ? end.retry_after : std::min(retry_after_, end.retry_after);
    if (end.code != wire::EndCode::ok) return outcome_of(end.code);
    if (!exchange_.started()) {
        // Not pushed as one: answers that are ready in one turn leave one behind the other at its end, so that a client
        // who is woken for the first is awake for the rest.
        exchange_.push_head(status_, std::move(fields_), whole_body_.size());
        exchange_.push_body(std::move(whole_body_));
    }
    exchange_.push_end();
    return Outcome::finished;
}

io::HttpHeaders Relay::fields_of(const wire::Head& head) const {
    io::HttpHeaders fields;
    fields.add("content-type", head.content_type);
    fields.add("x-exaserve-replica", to_string(attempt_.replica));
    if (!session_token_.empty()) fields.add("x-session-id", session_token_);
    for (const wire::HeaderField& field : head.headers) fields.add(field.name, field.value);
    return fields;
}

}  // namespace exa::app
