#include "app/attach/reply.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <utility>

#include "app/attach/server.h"
#include "io/errc.h"

namespace exa::app::attach {

namespace {

// Beyond this the server waits for the reader.
constexpr std::size_t waiting_bytes_max = 64 * 1024;
// Of one piece: a frame of a link is larger, and what a slow client has not taken is counted in pieces.
constexpr std::size_t piece_bytes_max = 64 * 1024;
// An event that is larger is passed on in parts.
constexpr std::size_t event_bytes_max = 256 * 1024;
constexpr std::size_t refusal_bytes_max = 200;
// Who gives a reply up may be a client that left; a server that has not said a word for so long is why.
constexpr std::chrono::seconds silence_max{30};

constexpr std::string_view broken_stream = "the stream ended before its last event";

bool sends_elsewhere(int status) {
    return status == 429 || status >= 500;
}

// "retry-after-ms" in milliseconds, else "retry-after" in seconds (its other form, a date, is not read).
Duration retry_after(const io::http::HttpHeaders& headers) {
    const auto number = [&](std::string_view name) -> std::optional<std::uint32_t> {
        const auto text = headers.find(name);
        std::uint32_t value = 0;
        if (!text || std::from_chars(text->data(), text->data() + text->size(), value).ec != std::errc{})
            return std::nullopt;
        return value;
    };
    if (const auto ms = number("retry-after-ms"))
        return std::min<Duration>(std::chrono::milliseconds(*ms), wire::wait_max);
    if (const auto seconds = number("retry-after"))
        return std::min<Duration>(std::chrono::seconds(*seconds), wire::wait_max);
    return Duration(0);
}

std::optional<std::uint64_t> content_length(const io::http::HttpHeaders& headers) {
    const auto text = headers.find("content-length");
    std::uint64_t value = 0;
    if (!text || std::from_chars(text->data(), text->data() + text->size(), value).ec != std::errc{})
        return std::nullopt;
    return value;
}

}  // namespace

std::size_t whole_events(std::string_view text) {
    for (std::size_t end = text.rfind('\n'); end != text.npos && end > 0; end = text.rfind('\n', end - 1)) {
        const std::size_t before = text[end - 1] == '\r' ? end - 1 : end;
        if (before > 0 && text[before - 1] == '\n') return end + 1;
    }
    return 0;
}

AttachReply::AttachReply(std::shared_ptr<io::http::UpstreamPool> pool, ReplicaId replica, AttachPermit permit,
                         std::shared_ptr<replica::ReceiverStats> stats, std::shared_ptr<FailureReporter> failures)
    : replica_(replica),
      permit_(std::move(permit)),
      stats_(std::move(stats)),
      failures_(std::move(failures)),
      call_(std::move(pool), *this) {}

std::optional<Result<replica::ReplyPart>> AttachReply::poll() {
    if (cancelled_) return Result<replica::ReplyPart>(error(io::errc::cancelled));
    if (ended_) return Result<replica::ReplyPart>(error(io::errc::closed, "the reply has ended"));
    if (head_) return Result<replica::ReplyPart>(*std::exchange(head_, std::nullopt));
    if (std::string piece = take_body(); !piece.empty())
        return Result<replica::ReplyPart>(wire::Data{0, {}, std::move(piece)});
    if (!end_) return std::nullopt;
    ended_ = true;
    return Result<replica::ReplyPart>(*std::exchange(end_, std::nullopt));
}

std::string AttachReply::take_body() {
    std::size_t bytes = body_.size();
    if (is_stream_ && !end_ && bytes < event_bytes_max) bytes = whole_events(body_);
    // Half an event that nothing follows is nothing.
    if (is_stream_ && end_ && end_->code != wire::EndCode::ok) {
        body_.resize(whole_events(body_));
        bytes = body_.size();
    }
    bytes = std::min(bytes, piece_bytes_max);
    std::string piece;
    if (bytes == body_.size()) {
        piece = std::exchange(body_, {});
    } else if (bytes > 0) {
        piece = body_.substr(0, bytes);
        body_.erase(0, bytes);
    }
    // Of an event in parts nothing can be read until more of it is there.
    if (paused_ && (bytes == 0 || body_.size() < waiting_bytes_max / 2)) {
        paused_ = false;
        call_.set_reading(true);
    }
    return piece;
}

void AttachReply::cancel() {
    if (std::exchange(cancelled_, true)) return;
    if (!end_ && !ended_) {
        ++stats_->cancelled;
        const auto now = FailureReporter::Clock::now();
        const auto silence = std::chrono::duration_cast<std::chrono::seconds>(now - began_);
        if (status_ == 0 && silence >= silence_max)
            failures_->handle_failure(now, fmt::format("no answer for {} s, request abandoned", silence.count()));
    }
    call_.cancel();
    permit_.reset();
    wake();
}

void AttachReply::on_head(const io::http::ResponseHead& head) {
    status_ = head.status;
    refused_ = sends_elsewhere(head.status);
    if (refused_) {
        retry_after_ = retry_after(head.headers);
        return;
    }
    if (head.status >= 400) ++stats_->client_errors;
    const auto type = head.headers.find("content-type").value_or("application/json");
    is_stream_ = type.starts_with("text/event-stream");
    // Whether it is a stream is told apart by this alone (gateway/response_forwarder.cc).
    head_.emplace(wire::Head{static_cast<std::uint16_t>(head.status),
                             is_stream_ ? "text/event-stream" : std::string(type), std::nullopt,
                             passed_fields(head.headers).fields, content_length(head.headers)});
    wake();
}

bool AttachReply::on_body(std::string_view piece) {
    if (refused_) {
        refusal_ += piece.substr(0, refusal_bytes_max - std::min(refusal_.size(), refusal_bytes_max));
        return true;
    }
    body_ += piece;
    if (is_stream_) events_.feed(piece);
    // A reader can only take whole events.
    const auto can_be_read = [&] { return !is_stream_ || body_.size() >= event_bytes_max || whole_events(body_) > 0; };
    if (!paused_ && body_.size() >= waiting_bytes_max && can_be_read()) {
        paused_ = true;
        call_.set_reading(false);
    }
    wake();
    return true;
}

void AttachReply::on_end(Result<void> end) {
    end_ = end_of(end);
    report(end);
    permit_.reset();
    wake();
}

wire::End AttachReply::end_of(const Result<void>& end) const {
    wire::LoadReport load{.replica = replica_};
    // Without this one, which is over.
    load.in_flight = permit_->in_flight() - 1;
    if (status_ == 429 || status_ == 503) {
        ++stats_->refused_busy;
        return {wire::EndCode::busy, fmt::format("the server answered {}", status_), load, retry_after_};
    }
    if (refused_) return {wire::EndCode::failed, fmt::format("the server answered {}: {}", status_, refusal_), load};
    if (!end && end.error().code == io::errc::closed)
        return {wire::EndCode::cancelled, "this peer lets go of the server", load};
    if (!end) return {wire::EndCode::failed, "the server: " + end.error().message(), load};
    if (is_broken_stream()) return {wire::EndCode::failed, "the server: " + std::string(broken_stream), load};
    return {wire::EndCode::ok, "", load};
}

void AttachReply::report(const Result<void>& end) const {
    const auto now = FailureReporter::Clock::now();
    // What a server says to a failed request may hold the request.
    if (end_->code == wire::EndCode::failed)
        failures_->handle_failure(now, refused_ ? fmt::format("the server answered {}", status_)
                                       : end    ? std::string(broken_stream)
                                                : end.error().message());
    else if (end_->code != wire::EndCode::cancelled)
        failures_->handle_answer(now);
}

void AttachReply::wake() {
    if (on_ready_) on_ready_();
}

}  // namespace exa::app::attach
