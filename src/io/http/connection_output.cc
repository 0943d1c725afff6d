// What a connection sends: heads, bodies and their framing, and the writes.
#include <algorithm>
#include <charconv>
#include <utility>

#include "base/bytes.h"
#include "base/check.h"
#include "io/errc.h"
#include "io/http/connection.h"

namespace exa::io::http {

namespace asio = boost::asio;

namespace {

constexpr std::string_view last_chunk = "0\r\n\r\n";

bool has_no_body(int status) {
    return status < 200 || status == 204 || status == 304;
}

// Answers of at most this many bytes leave as one piece of memory, which costs the kernel less than four.
constexpr std::size_t joined_bytes_max = 4096;

bool ends_line(char c) {
    return c == '\r' || c == '\n';
}

// The server's own fields, and values that would break out of theirs.
bool may_pass(std::string_view name, std::string_view value) {
    for (const std::string_view ours : {"content-length", "transfer-encoding", "connection", "date", "x-request-id"})
        if (equal_without_case(name, ours)) return false;
    return std::ranges::none_of(name, [](char c) { return ends_line(c) || c == ':' || c == ' '; }) &&
           std::ranges::none_of(value, ends_line);
}

}  // namespace

void HttpConnection::begin(const std::shared_ptr<HttpAnswer>& answer, int status, const HttpHeaders& headers,
                           std::optional<std::size_t> length) {
    EXA_CHECK(!answer->started);
    answer->started = true;
    answer->status = status;
    if (answer != current_ || gone_) return;
    if (context_->draining || closing_ || (input_.ended && input_.inbox.empty())) answer->keep_alive = false;
    const bool bodiless = has_no_body(status);
    if (!length && !bodiless) {
        answer->chunked = answer->knows_chunks;
        if (!answer->chunked) answer->keep_alive = false;
    }
    output_.head.append("HTTP/1.1 ")
        .append(std::to_string(status))
        .append(" ")
        .append(reason_phrase(status))
        .append("\r\ndate: ")
        .append(context_->date());
    output_.head.append("\r\nx-request-id: ").append(answer->request_id).append("\r\n");
    for (const HttpHeaders* const list : {&headers, &std::as_const(answer->fields)})
        for (const auto& [name, value] : *list)
            if (may_pass(name, value)) output_.head.append(name).append(": ").append(value).append("\r\n");
    if (answer->chunked)
        output_.head += "transfer-encoding: chunked\r\n";
    else if (length && !bodiless)
        output_.head.append("content-length: ").append(std::to_string(*length)).append("\r\n");
    output_.head += answer->keep_alive ? "connection: keep-alive\r\n\r\n" : "connection: close\r\n\r\n";
    if (bodiless || answer->head_only) answer->head_only = true;
    output_.last_chunk_sent = false;
}

Result<void> HttpConnection::append(const std::shared_ptr<HttpAnswer>& answer, std::string chunk) {
    if (answer != current_ || gone_) return error(errc::broken, "http client " + to_string(remote_));
    EXA_CHECK(answer->started && !answer->finished);
    if (answer->head_only || chunk.empty()) return success();
    answer->body_bytes += chunk.size();
    if (!answer->first_byte && wants_outcomes()) answer->first_byte = Clock::now();
    if (output_.body.empty())
        output_.body = std::move(chunk);
    else
        output_.body += chunk;
    return success();
}

void HttpConnection::end(const std::shared_ptr<HttpAnswer>& answer) {
    answer->finished = true;
}

void HttpConnection::abandon(const std::shared_ptr<HttpAnswer>& answer) {
    if (answer->finished || answer->complete || answer != current_) return;
    if (answer->started || answer->client_left) {
        break_off();
        return;
    }
    const auto response = http_error(500, "The server failed to answer.", "server_error", "internal_error");
    begin(answer, response.status, response.headers, response.body.size());
    if (append(answer, response.body)) end(answer);
    flush_later();
}

std::size_t HttpConnection::waiting() const {
    return output_.head.size() + output_.body.size() + output_.bytes_left;
}

bool HttpConnection::ask_for_room(HttpAnswer& answer) const {
    answer.wants_room = current_.get() == &answer && waiting() > write_buffer_bytes();
    return answer.wants_room;
}

// So that everything written in this iteration of the loop leaves together.
void HttpConnection::flush_later() {
    if (output_.is_writing || gone_ || std::exchange(output_.flush_due, true)) return;
    context_->flush_later(shared_from_this());
}

void HttpConnection::flush_now() {
    output_.flush_due = false;
    if (!output_.is_writing && !gone_) write_more();
}

void HttpConnection::write_more() {
    while (output_.bytes_left > 0 || fill_output()) {
        const std::span<const asio::const_buffer> rest(output_.buffers);
        const auto done =
            socket_.write(rest.first(output_.bytes_left == output_.buffers[0].size() ? 1 : Output::buffers_max));
        if (done.code == asio::error::would_block) {
            output_.is_writing = true;
            keep_rest();
            output_.deadline = Clock::now() + context_->config.write_timeout;
            return;
        }
        ++context_->stats.writes;
        if (done.code) {
            break_off();
            return;
        }
        took(done.bytes);
    }
    output_.deadline = Clock::time_point::max();
    if (current_ && current_->finished) complete_answer();
    output_.written.notify();
}

// What waits, framed, becomes what is written next. False: nothing waits.
bool HttpConnection::fill_output() {
    const HttpAnswer* const answer = current_.get();
    const bool chunked = answer != nullptr && answer->chunked && !answer->head_only;
    std::string_view tail;
    output_.size_out.clear();
    if (chunked && !output_.body.empty()) {
        std::array<char, 18> digits{};
        const auto [end, errc] = std::to_chars(digits.data(), digits.data() + digits.size(), output_.body.size(), 16);
        EXA_CHECK(errc == std::errc{});
        output_.size_out.assign(digits.data(), end).append("\r\n");
        tail = "\r\n";
    }
    if (chunked && answer->finished && !std::exchange(output_.last_chunk_sent, true))
        tail = tail.empty() ? last_chunk : std::string_view("\r\n0\r\n\r\n");
    output_.bytes_left = output_.head.size() + output_.size_out.size() + output_.body.size() + tail.size();
    output_.is_joined = output_.bytes_left <= joined_bytes_max;
    if (output_.is_joined) {
        std::string& joined = context_->joined;
        joined.assign(output_.head).append(output_.size_out).append(output_.body).append(tail);
        output_.body = {};
        output_.buffers = {asio::buffer(joined), asio::const_buffer(), asio::const_buffer(), asio::const_buffer()};
    } else {
        output_.head_out.swap(output_.head);
        output_.body_out = std::exchange(output_.body, {});
        output_.buffers = {asio::buffer(output_.head_out), asio::buffer(output_.size_out),
                           asio::buffer(output_.body_out), asio::buffer(tail)};
    }
    output_.head.clear();
    if (tls_) encrypt_output();
    return output_.bytes_left > 0;
}

// The socket takes no more now, and others are written meanwhile.
void HttpConnection::keep_rest() {
    if (!std::exchange(output_.is_joined, false)) return;
    output_.head_out.assign(static_cast<const char*>(output_.buffers[0].data()), output_.buffers[0].size());
    output_.buffers[0] = asio::buffer(output_.head_out);
}

void HttpConnection::encrypt_output() {
    if (output_.bytes_left > 0) {
        std::array<ByteView, Output::buffers_max> pieces;
        std::ranges::transform(output_.buffers, pieces.begin(), [](const asio::const_buffer& buffer) {
            return ByteView(static_cast<const std::uint8_t*>(buffer.data()), buffer.size());
        });
        // What cannot be encrypted is not sent: the client sees an end without a goodbye.
        if (!tls_->write(pieces)) input_.ended = true;
    }
    output_.is_joined = false;
    output_.encrypted = tls_->take_output(std::move(output_.encrypted));
    output_.buffers = {asio::buffer(output_.encrypted), asio::const_buffer(), asio::const_buffer(),
                       asio::const_buffer()};
    output_.bytes_left = output_.encrypted.size();
}

void HttpConnection::took(std::size_t bytes) {
    context_->stats.bytes_out += bytes;
    output_.bytes_left -= bytes;
    for (auto& buffer : output_.buffers) {
        const std::size_t taken = std::min(bytes, buffer.size());
        buffer += taken;
        bytes -= taken;
    }
    if (current_ && current_->wants_room && waiting() <= write_buffer_bytes()) {
        current_->wants_room = false;
        if (const auto listener = current_->listener) listener->drained();
    }
    output_.written.notify();
}

}  // namespace exa::io::http
