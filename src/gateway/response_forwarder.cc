#include "gateway/response_forwarder.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "openai/answer.h"
#include "openai/responses_stream.h"

namespace exa::gateway {

namespace {

// An answer in one piece that is no longer than this is held back.
constexpr std::size_t whole_bytes_max = 64 * 1024;

}  // namespace

std::string ResponseForwarder::error_event(const openai::ApiError& error, wire::RequestKind kind) const {
    if (kind != wire::RequestKind::response) return openai::error_event(error);
    // After those of all events so far: four before the first token, and at most one a token.
    return openai::response_error_event(error, progress_.choices().front().size() + 4);
}

void ResponseForwarder::begin(ReplicaId replica, std::uint64_t numerics, std::string session_token, wire::Open& open) {
    replica_ = replica;
    numerics_ = numerics;
    if (!session_token.empty()) session_token_ = std::move(session_token);
    head_ = {};
    whole_body_.clear();
    load_.reset();
    open.resumed = progress_.begin(numerics);
    open.choices = progress_.choices();
    if (mutant_ == Mutant::resume_repeats && !open.choices.front().empty()) open.choices.front().pop_back();
}

std::optional<Outcome> ResponseForwarder::take(wire::Head head, Actions& actions) {
    const bool is_stream = head.status == 200 && head.content_type == "text/event-stream";
    if (!started_) {
        head_ = std::move(head);
        if (is_stream) send_head(std::nullopt, true, actions);
        return std::nullopt;
    }
    if (is_stream) return std::nullopt;
    // Such as a 400 of a replica with less context: JSON has no place in the stream that goes on.
    failure_ = "the stream cannot go on there: status " + std::to_string(head.status);
    return Outcome::failed;
}

std::optional<Outcome> ResponseForwarder::take(wire::Data data, Actions& actions) {
    if (!data.tokens.empty() && !progress_.take(data.choice, data.offset, data.tokens) &&
        mutant_ != Mutant::resume_repeats) {
        failure_ = "the answer's token offsets are not contiguous";
        return Outcome::failed;
    }
    if (started_) {
        if (!data.bytes.empty()) actions.push_back(SendBody{std::move(data.bytes)});
        return std::nullopt;
    }
    if (whole_body_.empty())
        whole_body_ = std::move(data.bytes);
    else
        whole_body_ += data.bytes;
    // Without tokens it could not go on elsewhere anyway, and it may be of any size.
    if (numerics_ == 0 && whole_body_.size() > whole_bytes_max) {
        whole_started_ = true;
        send_head(head_.content_length, false, actions);
        actions.push_back(SendBody{std::exchange(whole_body_, {})});
    }
    return std::nullopt;
}

std::optional<Outcome> ResponseForwarder::take(wire::End end, Actions& actions) {
    load_ = end.load;
    failure_ = std::move(end.message);
    if (end.code == wire::EndCode::busy && end.retry_after > Duration(0))
        retry_after_ = retry_after_ == Duration(0) ? end.retry_after : std::min(retry_after_, end.retry_after);
    if (end.code != wire::EndCode::ok) return outcome_of(end.code);
    if (!started_) {
        // As three actions: answers that become ready in one iteration of the loop leave one after the other at its
        // end, so that a client that is woken for the first is awake for the rest.
        whole_started_ = true;
        send_head(whole_body_.size(), false, actions);
        actions.push_back(SendBody{std::move(whole_body_)});
    }
    actions.push_back(SendEnd{});
    return Outcome::finished;
}

void ResponseForwarder::send_head(std::optional<std::uint64_t> content_length, bool is_event_stream, Actions& actions) {
    started_ = true;
    progress_.commit();
    actions.push_back(SendHead{.status = head_.status,
                               .content_type = std::move(head_.content_type),
                               .replica = replica_,
                               .session_token = session_token_,
                               .headers = std::move(head_.headers),
                               .content_length = content_length,
                               .is_event_stream = is_event_stream});
}

}  // namespace exa::gateway
