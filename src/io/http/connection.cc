#include "io/http/connection.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <ctime>
#include <exception>
#include <utility>

#include "base/bytes.h"
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

// A client that has ended its side may still want its answer (RFC 9112 section 9.6) or may have closed its socket: that
// looks the same until something is sent. After this long without an answer it is sent what every client must pass
// over (RFC 9110 section 15.2), which the system of one that has closed answers with a reset.
constexpr auto probe_delay = std::chrono::milliseconds(50);
constexpr std::string_view interim_head = "HTTP/1.1 100 Continue\r\n\r\n";

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

HttpResponse busy(std::string_view message) {
    HttpResponse response = http_error(503, message, "server_error", "overloaded");
    response.headers.add("retry-after", "1");
    response.headers.add("x-should-retry", "true");
    return response;
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

HttpConnection::HttpConnection(std::shared_ptr<HttpContext> context, Socket socket, bool reserved)
    : context_(std::move(context)),
      input_(context_->io.get_executor()),
      output_(context_->io.get_executor()),
      reserved_(reserved) {
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
        refuse({400, "HTTPS is spoken here, and this is not TLS.", "https_required"});
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
            set_read_deadline(context_->draining ? config.drain_linger
                              : reserved_        ? config.reserved_timeout
                                                 : config.idle_timeout);
        }
        if (parse_inbox()) return true;
        if (!gone_ && !input_.ended && !input_.expired) {
            arm_read(input_.parser->header_done() ? read_bytes_large : read_bytes_small);
            return false;
        }
        if (!gone_ && !input_.ended && !idle_) {
            refuse({408, "The request did not arrive in time.", "request_timeout"});
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
        refuse(HttpFault(input_.parser->fault()));
        return true;
    }
    input_.inbox.erase(0, *taken);
    // The line of a chunk has no bound of its own in the parser.
    if (*taken == 0 && input_.inbox.size() > config.header_bytes_max + read_bytes_large) {
        refuse({400, "A chunk's header is too long.", "bad_request"});
        return true;
    }
    if (input_.parser->done()) {
        input_.deadline = Clock::time_point::max();
        auto request = input_.parser->take();
        request.remote = remote_;
        request.id = request_id(request.headers.find("x-request-id").value_or(std::string_view{}));
        if (!reserved_ || may_go_on(request)) answer_request(std::move(request));
        return true;
    }
    // Most requests are whole by now, and ask for no time.
    if (first) set_read_deadline(reserved_ ? config.reserved_timeout : config.header_timeout);
    return input_.parser->header_done() && *taken > 0 && take_body();
}

// A part of a body has come. True when the request is refused.
bool HttpConnection::take_body() {
    if (!input_.share && !judge_head()) return true;
    if (!input_.share->grow_to(input_.parser->body_bytes())) {
        refuse(busy("Too many bodies of requests are on their way; try again."), input_.parser->head());
        return true;
    }
    set_body_deadline();
    if (input_.parser->expects_continue() && !std::exchange(input_.continued, true)) {
        output_.head += interim_head;
        flush_later();
    }
    return false;
}

// False when the request is refused.
bool HttpConnection::judge_head() {
    HeadVerdict verdict;
    if (reserved_ || context_->judge_head) {
        HttpRequest request = input_.parser->head();
        request.remote = remote_;
        if (reserved_ && !may_go_on(request)) return false;
        if (context_->judge_head) verdict = context_->judge_head(request);
        if (verdict.refusal) {
            refuse(std::move(*verdict.refusal), request);
            return false;
        }
    }
    input_.share.emplace(context_->bodies, remote_, std::move(verdict.tenant));
    input_.body_begun = Clock::now();
    return true;
}

// Of a reserved connection. False when the request is refused.
bool HttpConnection::may_go_on(const HttpRequest& request) {
    if (context_->is_essential(request)) return true;
    refuse(busy("Every connection for requests is in use; try again."), request);
    return false;
}

// No byte moves it further than the least rate and the bound on the whole let it go.
void HttpConnection::set_body_deadline() {
    if (reserved_) return;
    const HttpConfig& config = context_->config;
    const auto earned = std::chrono::microseconds(input_.parser->body_bytes() * 1'000'000 /
                                                  std::max<std::uint64_t>(config.body_bytes_per_second_min, 1));
    input_.deadline = std::min({Clock::now() + config.body_timeout, input_.body_begun + config.body_timeout + earned,
                                input_.body_begun + config.body_timeout_total});
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
    if (reserved_) answer->keep_alive = false;
    end_input();
    phase_ = Phase::answer;
    current_ = answer;
    ++context_->stats.requests;
    ++context_->stats.requests_now;
    if (input_.ended) client_ended();
    // Input from here on belongs to later requests, or says that the client went away.
    if (input_.inbox.size() < context_->config.pipeline_bytes_max) arm_read(read_bytes_small);
    try {
        context_->handler(std::move(request), std::make_shared<HttpExchange>(shared_from_this(), answer));
    } catch (const std::exception& exception) {
        context_->log.error("http", "a handler threw", {{"what", exception.what()}});
        abandon(answer);
    }
}

void HttpConnection::refuse(const HttpFault& fault) {
    HttpRequest request;
    if (input_.parser) request.headers.add("x-request-id", input_.parser->field("x-request-id"));
    refuse(http_error(fault.status, fault.message, "invalid_request_error", fault.code), request);
}

// The connection ends after it: a body may be on its way.
void HttpConnection::refuse(HttpResponse response, const HttpRequest& request) {
    ++context_->stats.refused;
    auto answer = std::make_shared<HttpAnswer>();
    answer->begun = Clock::now();
    answer->request_id = request_id(request.headers.find("x-request-id").value_or(std::string_view{}));
    answer->head_only = request.method == "HEAD";
    answer->method = request.method;
    answer->path = request.path;
    end_input();
    phase_ = Phase::answer;
    current_ = answer;
    ++context_->stats.requests_now;
    begin(answer, response.status, response.headers, response.body.size());
    if (append(answer, std::move(response.body))) end(answer);
    flush_later();
}

// Of this request.
void HttpConnection::end_input() {
    input_.parser.reset();
    input_.share.reset();
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
    end_input();
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
    // What waits to be read is not lost: nobody could be answered.
    if (!input_.is_reading && phase_ != Phase::end && socket_.is_broken())
        break_off();
    else
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
        if (code == asio::error::eof)
            client_ended();
        else
            break_off();
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
    input_.ended = true;
    if (taken) return client_ended();
    context_->log.debug("http", "TLS ended", {{"reason", taken.error().message()}});
    client_left();
}

// No more comes from it; what it has asked is answered.
void HttpConnection::client_ended() {
    if (current_ && !current_->started && current_->knows_chunks)
        asio::co_spawn(context_->io, [self = shared_from_this()] { return self->probe(); }, asio::detached);
}

Awaitable<void> HttpConnection::probe() {
    const auto self = shared_from_this();
    const std::weak_ptr<const HttpAnswer> asked = current_;
    asio::steady_timer timer(context_->io, probe_delay);
    co_await timer.async_wait(as_result);
    const auto answer = asked.lock();
    if (gone_ || !answer || answer != current_ || answer->started) co_return;
    output_.head += interim_head;
    flush_later();
}

void HttpConnection::client_left() {
    const auto answer = current_;
    if (!answer || answer->complete || std::exchange(answer->client_left, true)) return;
    if (!answer->started) answer->status = status_client_left;
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

}  // namespace exa::io::http
