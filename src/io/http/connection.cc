#include "io/http/connection.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <charconv>
#include <ctime>
#include <exception>
#include <utility>

#include "base/bytes.h"
#include "base/check.h"
#include "io/errc.h"
#include "io/loop_hooks.h"
#include "io/net.h"
#include "io/random.h"

namespace exa::io::http {

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

constexpr std::size_t read_bytes_small = 8 * 1024;
constexpr std::size_t read_bytes_large = 64 * 1024;

// After the last answer the client may still be sending: closing over unread bytes would destroy the answer on its way
// (RFC 9112 section 9.6). It gets this long and this much.
constexpr auto linger_timeout = std::chrono::seconds(2);
constexpr auto linger_timeout_total = std::chrono::seconds(30);
constexpr std::size_t linger_bytes_max = 64 * 1024 * 1024;

constexpr std::string_view last_chunk = "0\r\n\r\n";

// Of an outcome: the client left before there was an answer. No status of HTTP's; logs of other servers have it, too.
constexpr int status_client_left = 499;

// What a client made and we hand on: printable ASCII, bounded.
bool is_request_id(std::string_view text) {
    return !text.empty() && text.size() <= 128 && std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f; });
}

// The client's own when it is fit to hand on.
std::string request_id(std::string_view given) {
    if (is_request_id(given)) return std::string(given);
    std::string made;
    made.reserve(36);
    made += "req-";
    append_hex(made, random_u64());
    append_hex(made, random_u64());
    return made;
}

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

const std::string& HttpContext::date() {
    const std::time_t now = std::time(nullptr);
    if (now != date_second_) {
        date_second_ = now;
        std::tm parts{};
        gmtime_r(&now, &parts);
        std::array<char, 40> text{};
        const std::size_t size = std::strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
        date_.assign(text.data(), size);
    }
    return date_;
}

void HttpContext::flush_later(std::shared_ptr<HttpConnection> connection) {
    to_flush_.push_back(std::move(connection));
    if (to_flush_.size() == 1) LoopHooks::of(io).at_end([self = shared_from_this()] { self->flush_all(); });
}

void HttpContext::flush_all() {
    flushing_.swap(to_flush_);
    for (const auto& connection : flushing_) connection->flush_now();
    flushing_.clear();
}

HttpConnection::HttpConnection(std::shared_ptr<HttpContext> context, Socket socket)
    : context_(std::move(context)), input_(context_->io.get_executor()), output_(context_->io.get_executor()) {
    if (context_->tls) tls_ = std::make_unique<tls::TlsStream>(context_->tls);
    boost::system::error_code code;
    socket.set_option(tcp::no_delay(true), code);
    if (const auto remote = socket.remote_endpoint(code); !code) remote_ = from_asio(remote);
    socket_.open(std::move(socket), *this);
}

// From the accept to the close.

void HttpConnection::start() {
    if (!socket_.is_open()) gone_ = true;
    if (tls_) {
        phase_ = Phase::handshake;
        set_read_deadline(context_->draining ? context_->config.drain_linger : context_->config.handshake_timeout);
    }
    advance();
}

// Never from within itself: a client that sends many small requests at once would use up the stack.
void HttpConnection::advance() {
    if (std::exchange(advancing_, true)) return;
    const auto self = shared_from_this();
    while ((phase_ == Phase::handshake && shake_hands()) || (phase_ == Phase::request && read_request())) continue;
    advancing_ = false;
}

bool HttpConnection::shake_hands() {
    if (tls_ && !tls_->established() && !gone_ && !input_.ended && !input_.expired) {
        arm_read(read_bytes_small);
        return false;
    }
    phase_ = Phase::request;
    if (tls_ && tls_->established()) return true;
    ++context_->stats.tls_handshake_failures;
    closing_ = true;
    // A plain request, most likely: it is told what to do.
    if (!tls_ && !gone_) {
        idle_ = false;
        refuse({400, "HTTPS is spoken here, and this is not TLS.", "https_required"}, request_id({}));
    }
    return true;
}

bool HttpConnection::read_request() {
    const HttpConfig& config = context_->config;
    if (!closing_ && !gone_) {
        if (!input_.parser) {
            input_.parser.emplace(config.header_bytes_max, config.body_bytes_max);
            idle_ = true;
            input_.continued = false;
            set_read_deadline(context_->draining ? config.drain_linger : config.idle_timeout);
        }
        if (parse_inbox()) return true;
        if (!gone_ && !input_.ended && !input_.expired) {
            arm_read(input_.parser->header_done() ? read_bytes_large : read_bytes_small);
            return false;
        }
        if (!gone_ && !input_.ended && !idle_) {
            refuse({408, "The request did not arrive in time.", "request_timeout"},
                   request_id(input_.parser->field("x-request-id")));
            return true;
        }
    }
    if (input_.parser && !idle_) ++context_->stats.disconnected;
    begin_end();
    return false;
}

// True when the request is whole, or refused.
bool HttpConnection::parse_inbox() {
    const HttpConfig& config = context_->config;
    // A robust server skips an empty line before the request line (RFC 9112 section 2.2).
    if (idle_) input_.inbox.erase(0, std::min(input_.inbox.find_first_not_of("\r\n"), input_.inbox.size()));
    if (input_.inbox.empty()) return false;
    const bool first = std::exchange(idle_, false);
    const auto taken = input_.parser->feed(input_.inbox);
    if (!taken) {
        refuse(input_.parser->fault(), request_id(input_.parser->field("x-request-id")));
        return true;
    }
    input_.inbox.erase(0, *taken);
    // The line of a chunk has no bound of its own in the parser.
    if (*taken == 0 && input_.inbox.size() > config.header_bytes_max + read_bytes_large) {
        refuse({400, "A chunk's header is too long.", "bad_request"}, request_id(input_.parser->field("x-request-id")));
        return true;
    }
    if (input_.parser->done()) {
        input_.deadline = Clock::time_point::max();
        auto request = input_.parser->take();
        request.remote = remote_;
        request.id = request_id(request.headers.find("x-request-id").value_or(std::string_view{}));
        answer_request(std::move(request));
        return true;
    }
    // Most requests are whole by now, and ask for no time.
    if (first) set_read_deadline(config.header_timeout);
    if (input_.parser->header_done() && *taken > 0) set_read_deadline(config.body_timeout);
    if (input_.parser->header_done() && input_.parser->expects_continue() && !std::exchange(input_.continued, true)) {
        output_.head += "HTTP/1.1 100 Continue\r\n\r\n";
        flush_later();
    }
    return false;
}

void HttpConnection::answer_request(HttpRequest request) {
    auto answer = std::make_shared<HttpAnswer>();
    answer->knows_chunks = input_.parser->knows_chunks();
    answer->head_only = request.method == "HEAD";
    answer->keep_alive = request.keep_alive;
    answer->request_id = request.id;
    if (wants_outcomes()) {
        answer->begun = Clock::now();
        answer->method = request.method;
        answer->path = request.path;
    }
    input_.parser.reset();
    phase_ = Phase::answer;
    current_ = answer;
    ++context_->stats.requests;
    ++context_->stats.requests_now;
    // Input from here on belongs to later requests, or says that the client went away.
    if (input_.inbox.size() < context_->config.pipeline_bytes_max) arm_read(read_bytes_small);
    try {
        context_->handler(std::move(request), std::make_shared<HttpExchange>(shared_from_this(), answer));
    } catch (const std::exception& exception) {
        context_->log.error("http", "a handler threw", {{"what", exception.what()}});
        abandon(answer);
    }
}

void HttpConnection::refuse(HttpFault fault, std::string request_id) {
    ++context_->stats.refused;
    auto answer = std::make_shared<HttpAnswer>();
    answer->begun = Clock::now();
    answer->request_id = std::move(request_id);
    input_.parser.reset();
    phase_ = Phase::answer;
    current_ = answer;
    ++context_->stats.requests_now;
    const HttpResponse response = http_error(fault.status, fault.message, "invalid_request_error", fault.code);
    begin(answer, response.status, response.headers, response.body.size());
    if (append(answer, response.body)) end(answer);
    flush_later();
}

// The socket took all of it, or the client is gone.
void HttpConnection::complete_answer() {
    const auto answer = std::exchange(current_, nullptr);
    answer->complete = true;
    answer->listener = nullptr;
    report(*answer);
    --context_->stats.requests_now;
    if (!answer->keep_alive) closing_ = true;
    phase_ = Phase::request;
    if (input_.inbox.empty())
        advance();
    else
        asio::post(executor(), [self = shared_from_this()] { self->advance(); });
}

void HttpConnection::report(const HttpAnswer& answer) {
    if (!wants_outcomes()) return;
    const auto since = [&](Clock::time_point time) {
        return std::chrono::duration_cast<Duration>(time - answer.begun);
    };
    HttpOutcome outcome{.id = answer.request_id,
                        .method = answer.method,
                        .path = answer.path,
                        .remote = remote_,
                        .status = answer.status,
                        .body_bytes = answer.body_bytes,
                        .took = since(Clock::now()),
                        .complete = answer.finished && !answer.client_left,
                        .annotations = answer.annotations};
    if (answer.first_byte) outcome.first_byte = since(*answer.first_byte);
    context_->on_outcome(outcome);
}

void HttpConnection::begin_end() {
    phase_ = Phase::end;
    asio::co_spawn(context_->io, [self = shared_from_this()] { return self->end_life(); }, asio::detached);
}

Awaitable<void> HttpConnection::end_life() {
    const auto self = shared_from_this();
    co_await linger();
    break_off();
    context_->connections.erase(self);
    --context_->stats.connections_now;
    if (context_->on_connection_closed) context_->on_connection_closed();
}

// Something that it may wait for has happened.
void HttpConnection::woken() {
    if (phase_ == Phase::end)
        input_.incoming.notify();
    else
        advance();
}

Awaitable<void> HttpConnection::linger() {
    if (tls_ && !gone_) {
        tls_->finish();
        flush_now();
        while (output_.is_writing && !gone_) co_await output_.written.wait();
    }
    // Nobody waits for an answer on an idle connection.
    if (gone_ || input_.ended || idle_) co_return;
    socket_.shutdown_send();
    std::size_t discarded = input_.inbox.size();
    input_.inbox.clear();
    input_.expired = false;
    const auto until = Clock::now() + linger_timeout_total;
    while (!gone_ && !input_.ended && !input_.expired && discarded < linger_bytes_max && Clock::now() < until) {
        set_read_deadline(std::chrono::duration_cast<Duration>(linger_timeout));
        arm_read(read_bytes_large);
        co_await input_.incoming.wait();
        discarded += input_.inbox.size();
        input_.inbox.clear();
    }
}

void HttpConnection::sweep(Clock::time_point now) {
    if (now >= output_.deadline) {
        break_off();
        return;
    }
    if (now < input_.deadline || input_.expired) return;
    // A request that has reached the kernel is answered, however late the hour.
    if (idle_ && socket_.has_input()) return;
    input_.expired = true;
    woken();
}

void HttpConnection::begin_drain(Duration linger) {
    if (idle_ && !current_) input_.deadline = std::min(input_.deadline, Clock::now() + linger);
}

void HttpConnection::cut() {
    break_off();
}

// Input.

void HttpConnection::arm_read(std::size_t bytes_max) {
    if (input_.is_reading || gone_ || input_.ended) return;
    input_.is_reading = true;
    input_.read_bytes = bytes_max;
    if (socket_.may_read()) asio::post(executor(), [self = shared_from_this()] { self->read_now(); });
}

void HttpConnection::on_ready() {
    const auto self = shared_from_this();
    if (output_.is_writing && socket_.may_write()) {
        output_.is_writing = false;
        write_more();
    }
    read_now();
}

void HttpConnection::read_now() {
    if (!input_.is_reading || gone_ || !socket_.may_read()) return;
    const std::span<char> buffer = socket_.shared_buffer().first(input_.read_bytes);
    const auto done = socket_.read(buffer);
    if (done.code != asio::error::would_block) on_read(done.code, {buffer.data(), done.bytes});
}

void HttpConnection::on_read(const boost::system::error_code& code, std::string_view bytes) {
    input_.is_reading = false;
    context_->stats.bytes_in += bytes.size();
    if (code) {
        input_.ended = true;
        if (code != asio::error::eof) break_off();
        client_left();
    } else {
        if (tls_)
            decrypt(bytes);
        else
            input_.inbox.append(bytes);
        if (current_ && input_.inbox.size() < context_->config.pipeline_bytes_max) arm_read(read_bytes_small);
    }
    woken();
}

void HttpConnection::decrypt(std::string_view bytes) {
    constexpr char tls_handshake_record = 22;
    if (!tls_->begun() && bytes.front() != tls_handshake_record) {
        tls_.reset();
        input_.inbox.append(bytes);
        return;
    }
    const auto taken = tls_->take(as_bytes(bytes), input_.inbox);
    if (tls_->has_output()) flush_later();
    if (taken && !tls_->ended()) return;
    if (!taken) context_->log.debug("http", "TLS ended", {{"reason", taken.error().message()}});
    input_.ended = true;
    client_left();
}

void HttpConnection::client_left() {
    const auto answer = current_;
    if (!answer || answer->complete || std::exchange(answer->client_left, true)) return;
    ++context_->stats.disconnected;
    if (const auto listener = answer->listener) listener->client_left();
}

// Closes the socket under everybody who uses it.
void HttpConnection::break_off() {
    if (std::exchange(gone_, true)) return;
    socket_.close();
    input_.deadline = output_.deadline = Clock::time_point::max();
    client_left();
    output_.written.notify();
    if (current_)
        complete_answer();
    else
        woken();
}

// Output.

void HttpConnection::begin(const std::shared_ptr<HttpAnswer>& answer, int status, const HttpHeaders& headers,
                           std::optional<std::size_t> length) {
    EXA_CHECK(!answer->started);
    answer->started = true;
    answer->status = status;
    if (answer != current_ || gone_) return;
    if (context_->draining || closing_) answer->keep_alive = false;
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
    if (!answer->started && answer->client_left) answer->status = status_client_left;
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
