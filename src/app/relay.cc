#include "app/relay.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "app/attach_server.h"
#include "app/traceparent.h"
#include "openai/answer.h"
#include "openai/responses_stream.h"

namespace exa::app {

namespace asio = boost::asio;

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

Relay::Relay(std::shared_ptr<io::HttpExchange> exchange, wire::Open open)
    : exchange_(std::move(exchange)), open_(std::move(open)) {}

void Relay::pass_on(const io::HttpRequest& request) {
    open_.headers = trace_fields(request.headers);
    for (wire::HeaderField& field : passed_fields(request.headers)) open_.headers.push_back(std::move(field));
    const std::size_t size = request.path.size() + 1 + request.query.size();
    if (!request.query.empty() && size <= wire::target_bytes_max) open_.target = request.path + "?" + request.query;
}

wire::Open Relay::begin(router::Attempt attempt) {
    attempt_ = std::move(attempt);
    if (!attempt_.session_token.empty()) session_token_ = attempt_.session_token;
    head_ = {};
    whole_body_.clear();
    load_.reset();
    wire::Open open = open_;
    open.replica = attempt_.replica;
    open.session_position = attempt_.position;
    open.queue_wait = attempt_.queue_wait;
    open.resumed = ledger_.begin(attempt_.numerics);
    open.choices = ledger_.choices();
    return open;
}

std::string Relay::error_event(const openai::ApiError& error) const {
    if (open_.kind != wire::RequestKind::response) return openai::error_event(error);
    // Behind those of all events so far: four before the first token, and at most one a token.
    return openai::response_error_event(error, ledger_.choices().front().size() + 4);
}

asio::awaitable<std::optional<Outcome>> Relay::take(ReplyPart part) {
    if (auto* head = std::get_if<wire::Head>(&part)) co_return co_await take_head(std::move(*head));
    if (auto* data = std::get_if<wire::Data>(&part)) co_return co_await take_data(std::move(*data));
    co_return co_await take_end(std::get<wire::End>(std::move(part)));
}

asio::awaitable<std::optional<Outcome>> Relay::take_head(wire::Head head) {
    head_ = std::move(head);
    const bool is_stream = head_.status == 200 && head_.content_type == "text/event-stream";
    if (!exchange_->started()) {
        if (!is_stream) co_return std::nullopt;
        io::HttpHeaders fields = headers();
        fields.add("cache-control", "no-cache");
        ledger_.promise();
        if (!co_await exchange_->start(head_.status, std::move(fields))) co_return Outcome::client_gone;
        co_return std::nullopt;
    }
    if (is_stream) co_return std::nullopt;
    // Such as a 400 of a replica with less context: JSON has no place in the stream that goes on.
    failure_ = fmt::format("the stream cannot go on there: status {}", head_.status);
    co_return Outcome::failed;
}

asio::awaitable<std::optional<Outcome>> Relay::take_data(wire::Data data) {
    if (!data.tokens.empty() && !ledger_.take(data.choice, data.offset, data.tokens)) {
        failure_ = "the answer's token offsets are not contiguous";
        co_return Outcome::failed;
    }
    if (!exchange_->started()) {
        whole_body_ += data.bytes;
        // Without tokens it could not go on elsewhere anyway, and it may be of any size.
        if (attempt_.numerics == 0 && whole_body_.size() > whole_bytes_max) co_return co_await start_whole();
        co_return std::nullopt;
    }
    if (!data.bytes.empty() && !co_await exchange_->write(std::move(data.bytes))) co_return Outcome::client_gone;
    co_return std::nullopt;
}

asio::awaitable<std::optional<Outcome>> Relay::start_whole() {
    whole_started_ = true;
    ledger_.promise();
    if (!co_await exchange_->start(head_.status, headers(), head_.content_length)) co_return Outcome::client_gone;
    if (!co_await exchange_->write(std::exchange(whole_body_, {}))) co_return Outcome::client_gone;
    co_return std::nullopt;
}

asio::awaitable<std::optional<Outcome>> Relay::take_end(wire::End end) {
    load_ = end.load;
    failure_ = std::move(end.message);
    if (end.code == wire::EndCode::busy && end.retry_after > Duration(0))
        retry_after_ = retry_after_ == Duration(0) ? end.retry_after : std::min(retry_after_, end.retry_after);
    if (end.code != wire::EndCode::ok) co_return outcome_of(end.code);
    if (exchange_->started()) {
        co_return co_await exchange_->finish() ? Outcome::finished : Outcome::client_gone;
    }
    io::HttpResponse response{head_.status, headers(), std::move(whole_body_)};
    co_return co_await exchange_->respond(std::move(response)) ? Outcome::finished : Outcome::client_gone;
}

io::HttpHeaders Relay::headers() const {
    io::HttpHeaders headers{{"content-type", head_.content_type}, {"x-exaserve-replica", to_string(attempt_.replica)}};
    if (!session_token_.empty()) headers.add("x-session-id", session_token_);
    for (const wire::HeaderField& field : head_.headers) headers.add(field.name, field.value);
    return headers;
}

}  // namespace exa::app
