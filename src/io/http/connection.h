// HttpConnection: one client's socket, from the accept to the close.
//
// One read is outstanding whenever more input is wanted: for the next request, or, while a request is answered, to see
// the client go. Output waits in a head and a body; one write takes all that is there. Deadlines are plain times that
// the server's sweep compares now and then: a request sets no timer, and needs no coroutine.
#pragma once

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "io/async.h"
#include "io/http/message.h"
#include "io/http/request_parser.h"
#include "io/http/server.h"
#include "io/stream_socket.h"
#include "io/tls/stream.h"

namespace exa::io::http {

// What the connections of one server share.
struct HttpContext : std::enable_shared_from_this<HttpContext> {
    HttpContext(boost::asio::io_context& context, HttpConfig settings, HttpServer::Handler answer, Log& sink)
        : io(context),
          config(settings),
          handler(std::move(answer)),
          log(sink),
          bodies(std::make_shared<BodyBudget>(settings.body_memory_max)) {}

    boost::asio::io_context& io;
    HttpConfig config;
    HttpServer::Handler handler;
    Log& log;
    HttpStats stats;
    std::shared_ptr<const tls::TlsSettings> tls;  // of connections to come; null: plain
    std::set<std::shared_ptr<HttpConnection>> connections;
    std::function<void()> on_connection_closed;
    std::function<void(const HttpOutcome&)> on_outcome;
    std::function<HeadVerdict(const HttpRequest&)> judge_head;  // null: every body may come
    std::function<bool(const HttpRequest&)> is_essential;       // null: no connection is reserved
    std::shared_ptr<BodyBudget> bodies;
    bool draining = false;
    std::string joined;  // a short output that is being written: one for all, so that it stays in the cache

    std::size_t connections_limit() const {
        return config.connections_max + (is_essential ? config.connections_reserved : 0);
    }

    // Has the connection write at the end of this iteration of the loop.
    void flush_later(std::shared_ptr<HttpConnection> connection);

    // "Sun, 06 Nov 1994 08:49:37 GMT" (RFC 9110 section 5.6.7), made once a second.
    const std::string& date();

  private:
    void flush_all();

    std::vector<std::shared_ptr<HttpConnection>> to_flush_;
    std::vector<std::shared_ptr<HttpConnection>> flushing_;
    std::int64_t date_second_ = 0;
    std::string date_;
};

// One answer in the making. It outlives its place on the connection if somebody keeps the exchange.
struct HttpAnswer {
    using Clock = std::chrono::steady_clock;

    std::string request_id;
    HttpHeaders fields;  // beside those that the head begins with
    bool knows_chunks = true;
    bool head_only = false;   // the request was HEAD
    bool keep_alive = false;  // as the client asked; the head decides
    bool started = false;
    bool chunked = false;
    bool finished = false;     // nothing more will be written
    bool complete = false;     // and the socket took it, or the client is gone
    bool client_left = false;  // before the answer was complete
    bool wants_room = false;   // its listener waits for drained()
    std::shared_ptr<AnswerListener> listener;

    // For an HttpOutcome.
    std::string method;
    std::string path;
    int status = 0;
    std::uint64_t body_bytes = 0;
    Clock::time_point begun;
    std::optional<Clock::time_point> first_byte;
    std::vector<std::pair<std::string_view, std::string>> annotations;
};

class HttpConnection final : public std::enable_shared_from_this<HttpConnection>, private SocketOwner {
  public:
    using Socket = boost::asio::basic_stream_socket<boost::asio::ip::tcp, boost::asio::io_context::executor_type>;

    // `reserved`: for essential requests only.
    HttpConnection(std::shared_ptr<HttpContext> context, Socket socket, bool reserved);
    HttpConnection(const HttpConnection&) = delete;
    HttpConnection& operator=(const HttpConnection&) = delete;

    // Begins; the connection leaves the context's set at the end.
    void start();

    // Called now and then: acts on deadlines that have passed.
    void sweep(std::chrono::steady_clock::time_point now);
    // An idle connection has `linger` left for a last request.
    void begin_drain(Duration linger);
    // Ends everything at once.
    void cut();

    // For HttpExchange.
    void begin(const std::shared_ptr<HttpAnswer>& answer, int status, const HttpHeaders& headers,
               std::optional<std::size_t> length);
    Result<void> append(const std::shared_ptr<HttpAnswer>& answer, std::string chunk);
    void end(const std::shared_ptr<HttpAnswer>& answer);
    void abandon(const std::shared_ptr<HttpAnswer>& answer);
    // begin(), append() and end() only take what is to be written.
    void flush_now();
    void flush_later();
    // Whether more than write_buffer_bytes wait; the answer's listener will then be told.
    bool ask_for_room(HttpAnswer& answer) const;
    bool client_gone() const { return gone_ || (current_ && current_->client_left); }
    bool wants_outcomes() const { return context_->on_outcome != nullptr; }
    std::size_t write_buffer_bytes() const { return context_->config.write_buffer_bytes; }
    boost::asio::io_context::executor_type executor() { return context_->io.get_executor(); }

  private:
    using Clock = std::chrono::steady_clock;

    // What it waits for.
    enum class Phase : std::uint8_t { handshake, request, answer, end };

    // What comes from the client.
    struct Input {
        explicit Input(const boost::asio::any_io_executor& executor) : incoming(executor) {}

        std::optional<RequestParser> parser;  // of the request that comes
        bool continued = false;               // "100 Continue" was said
        std::optional<BodyShare> share;       // of the body that comes, once its header was judged
        std::chrono::steady_clock::time_point body_begun;
        std::string inbox;           // read and not yet parsed
        std::size_t read_bytes = 0;  // that the read waited for takes at most
        bool is_reading = false;     // a read is waited for
        bool ended = false;
        bool expired = false;
        Clock::time_point deadline = Clock::time_point::max();
        Signal incoming;
    };
    // What goes to it.
    struct Output {
        static constexpr std::size_t buffers_max = 4;

        explicit Output(const boost::asio::any_io_executor& executor) : written(executor) {}

        std::string head;  // status line, fields, or "100 Continue"
        std::string body;  // framed when it is written
        // What the socket is taking: these strings, or what `buffers` points to besides.
        std::string head_out, size_out, body_out;
        std::array<boost::asio::const_buffer, buffers_max> buffers{};
        Bytes encrypted;             // what `buffers` points to instead, of HTTPS
        std::size_t bytes_left = 0;  // of `buffers` that the socket has yet to take
        bool is_joined = false;      // `buffers` points to what the context has for all
        bool last_chunk_sent = false;
        bool is_writing = false;  // the socket will tell when it takes more
        bool flush_due = false;   // at the end of this iteration
        Clock::time_point deadline = Clock::time_point::max();
        Signal written;
    };

    void advance();
    // Each does what can be done now; false: it waits, or the phase is another.
    bool shake_hands();
    bool read_request();
    bool parse_inbox();
    bool take_body();
    bool judge_head();
    bool may_go_on(const HttpRequest& request);
    void set_body_deadline();
    void answer_request(HttpRequest request);
    void refuse(const HttpFault& fault);
    void refuse(HttpResponse response, const HttpRequest& request);
    void end_input();
    void complete_answer();
    void report(const HttpAnswer& answer);
    void begin_end();
    Awaitable<void> end_life();
    Awaitable<void> linger();
    void woken();

    void arm_read(std::size_t bytes_max);
    void on_ready() override;
    void read_now();
    void on_read(const boost::system::error_code& code, std::string_view bytes);
    void write_more();
    bool fill_output();
    void keep_rest();
    void took(std::size_t bytes);
    void decrypt(std::string_view bytes);
    void encrypt_output();
    void client_ended();
    Awaitable<void> probe();
    void client_left();
    void break_off();
    std::size_t waiting() const;
    void set_read_deadline(Duration after) { input_.deadline = Clock::now() + after; }

    std::shared_ptr<HttpContext> context_;
    StreamSocket socket_;
    Endpoint remote_;
    Phase phase_ = Phase::request;
    bool advancing_ = false;

    std::unique_ptr<tls::TlsStream> tls_;  // null: plain

    Input input_;
    Output output_;
    std::shared_ptr<HttpAnswer> current_;

    const bool reserved_;
    bool idle_ = true;   // no byte of a request has come
    bool gone_ = false;  // the socket is closed
    bool closing_ = false;
};

}  // namespace exa::io::http
