// HTTP/1.1 server (RFC 9112), over TLS or not: requests in, whole or streamed answers out.
//
// A connection reads a request, hands it on, and goes on with the next when its answer is complete. Meanwhile the
// socket is still read, so a client that goes away is noticed at once and pipelined bytes wait for their turn, within
// a bound. Everything that a client can send has a limit in HttpConfig.
//
// A whole answer is handed to the socket at once; what streams of all connections get within one iteration of the
// event loop leaves at its end, in one write a connection.
//
// Threading: a server and its exchanges belong to the one thread that runs their io_context.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/endpoint.h"
#include "base/log.h"
#include "base/result.h"
#include "base/time.h"
#include "io/async.h"
#include "io/http/body_budget.h"
#include "io/http/message.h"
#include "io/tls/settings.h"

namespace exa::io::http {

struct HttpConfig {
    // Request line and header fields together; more is 431. Default 64 KiB.
    std::uint32_t header_bytes_max = 64 * 1024;
    // Body after transfer decoding; more is 413. Default 16 MiB.
    std::uint64_t body_bytes_max = 16ULL * 1024 * 1024;
    // From the first byte of a request to the end of its header; later is 408. Default 10 s.
    Duration header_timeout = std::chrono::seconds(10);
    // Of HTTPS, from the accept to the end of the handshake. Default 10 s.
    Duration handshake_timeout = std::chrono::seconds(10);
    // Between two reads of a body; later is 408. Default 30 s.
    Duration body_timeout = std::chrono::seconds(30);
    // Once body_timeout has passed since its header, a body is as large as this rate since then makes it, or it is 408:
    // a byte now and then holds no connection. Default 8 KiB a second.
    std::uint64_t body_bytes_per_second_min = 8 * 1024;
    // From the header to the end of the body; later is 408. Default 5 min.
    Duration body_timeout_total = std::chrono::minutes(5);
    // Memory for bodies that have not arrived whole, of all clients together (io/http/body_budget.h); more is 503.
    // Default 256 MiB.
    std::uint64_t body_memory_max = 256ULL * 1024 * 1024;
    // A keep-alive connection without a request is closed after this. Default 75 s.
    Duration idle_timeout = std::chrono::seconds(75);
    // A client that takes no byte of its answer for this long is gone. Default 60 s.
    Duration write_timeout = std::chrono::seconds(60);
    // During a drain, an idle connection may still send a request for this long, and it is answered. Default 1 s.
    Duration drain_linger = std::chrono::seconds(1);
    // Connections at once; more wait in the listen queue. Default 8192.
    std::size_t connections_max = 8192;
    // More that are accepted where HttpServer::set_essential() says what they are for. Default 16.
    std::size_t connections_reserved = 16;
    // Of one of these, from its first byte to the end of the request. Default 2 s.
    Duration reserved_timeout = std::chrono::seconds(2);
    // Bytes of one answer that may wait for its socket before its writer waits. Default 64 KiB.
    std::size_t write_buffer_bytes = 64 * 1024;
    // Bytes of later requests read while one is answered. Default 64 KiB.
    std::size_t pipeline_bytes_max = 64 * 1024;
    // Lets several servers of this process (one a thread) share a port. Default false.
    bool reuse_port = false;
};

// Counters grow for as long as the server exists; the two `_now` are levels.
struct HttpStats {
    std::uint64_t connections_now = 0;
    std::uint64_t requests_now = 0;
    std::uint64_t connections = 0;
    std::uint64_t requests = 0;
    std::uint64_t refused = 0;                 // answered 4xx by the server itself
    std::uint64_t tls_handshake_failures = 0;  // connections whose TLS handshake failed or took too long
    std::uint64_t disconnected = 0;            // clients that went away before their answer was complete
    std::uint64_t bytes_in = 0;
    std::uint64_t bytes_out = 0;
    std::uint64_t writes = 0;  // system calls; many chunks share one
};

// What became of a request, for whoever keeps a log. All views are valid during the call only.
struct HttpOutcome {
    std::string_view id;
    std::string_view method;  // empty when the request was not understood, like the path
    std::string_view path;    // without the query
    Endpoint remote;
    int status = 0;  // 499: the client left before there was one
    std::uint64_t body_bytes = 0;
    Duration took{0};                      // from the whole request to the last byte that the socket took
    std::optional<Duration> first_byte{};  // of the body
    bool complete = false;                 // false: the client left, or the answer was cut
    std::span<const std::pair<std::string_view, std::string>> annotations{};  // HttpExchange::annotate()
};

class HttpConnection;
struct HttpAnswer;

// Whoever answers a request, as its exchange sees it. Kept alive until the answer is complete.
class AnswerListener {
  public:
    virtual ~AnswerListener() = default;
    // Once, when the client goes away before the answer is complete; possibly from within a call of the exchange.
    // Nothing follows.
    virtual void client_left() = 0;
    // From the event loop: what is_full() said is over.
    virtual void drained() = 0;
};

// One request being answered: either push_answer(), or push_head(), push_body()..., push_end(). Kept by whoever
// answers; an exchange that is dropped before its answer is complete becomes 500, or a cut connection when the head is
// out.
//
// Nothing waits and nothing fails: once the client is gone the calls do nothing. Whoever answers listens, and pauses
// while the exchange is full.
class HttpExchange {
  public:
    HttpExchange(std::shared_ptr<HttpConnection> connection, std::shared_ptr<HttpAnswer> answer);
    ~HttpExchange();
    HttpExchange(const HttpExchange&) = delete;
    HttpExchange& operator=(const HttpExchange&) = delete;

    // A whole answer, handed to the socket at once.
    void push_answer(HttpResponse response);
    // Begins a streamed answer; the head leaves with the first bytes of the body or at the end of this iteration of
    // the loop.
    void push_head(int status, HttpHeaders headers, std::optional<std::uint64_t> length = std::nullopt);
    // What is pushed within one iteration of the loop leaves in one system call.
    void push_body(std::string chunk);
    void push_end();
    // More than write_buffer_bytes wait for the socket; the listener hears when they no longer do.
    bool is_full() const;
    // Before any other of them. At once (posted) when the client is gone already.
    void listen(std::shared_ptr<AnswerListener> listener);

    // One more field of the answer's head, whatever becomes of the request. Before the answer begins.
    void add_field(std::string_view name, std::string_view value);
    // Something about the request for its HttpOutcome, in place of an earlier annotation of that key, whose text
    // outlives the server. Nothing where nobody listens.
    void annotate(std::string_view key, std::string value);
    // False where nobody listens.
    bool wants_annotations() const;

    // True once an answer has begun.
    bool started() const;

  private:
    std::shared_ptr<HttpConnection> connection_;
    std::shared_ptr<HttpAnswer> answer_;
};

// What is thought of a request whose body is still to come.
struct HeadVerdict {
    // The answer, after which the connection ends; nothing: the body may come.
    std::optional<HttpResponse> refusal;
    // Whose memory the body is until it is whole; empty: only its address counts.
    std::string tenant;
};

class HttpServer {
  public:
    // May answer at once or keep the exchange; what it throws is logged and becomes 500.
    using Handler = std::function<void(HttpRequest request, std::shared_ptr<HttpExchange>)>;

    HttpServer(boost::asio::io_context& context, HttpConfig config, Handler handler, Log& log);
    // Closes every connection.
    ~HttpServer();
    HttpServer(const HttpServer&) = delete;
    HttpServer& operator=(const HttpServer&) = delete;

    // Connections that are accepted from now on speak HTTPS with these settings; those that are open keep theirs. On
    // the server's thread, the first time before listen().
    void set_tls(std::shared_ptr<const tls::TlsSettings> tls);

    // Asked about a request whose header has come and whose body has not, before "100 Continue"; `request` has no body
    // and no id yet. Requests that arrive whole go to the handler at once, which judges them itself. Before listen().
    void on_head(std::function<HeadVerdict(const HttpRequest& request)> judge);
    // What is answered on connections beyond connections_max: health, metrics, commands. Everything else is 503 there.
    // Before listen().
    void set_essential(std::function<bool(const HttpRequest& request)> is_essential);
    // One that several servers of a process share; else a server has its own. Before listen().
    void set_body_budget(std::shared_ptr<BodyBudget> budget);

    // Takes header_bytes_max, body_bytes_max, connections_max and idle_timeout from `config`: requests that begin, and
    // connections that are accepted or become idle, from now on. On the server's thread.
    void set_limits(const HttpConfig& config);

    // Called when a request has been answered, refused or given up. Before listen().
    void on_outcome(std::function<void(const HttpOutcome&)> handler);

    // Starts to accept. Port 0 takes a free one. errc::port_taken, errc::address_unusable.
    Result<void> listen(Endpoint endpoint);
    // What was bound, with the real port.
    Endpoint endpoint() const;

    // Takes what is already in the listen queue, then closes the listener. Idempotent.
    void stop_accepting();
    // stop_accepting(), then answers what still comes, with `Connection: close`, until every connection is done or
    // `deadline` has passed; what is left then is cut. True when all were done.
    Awaitable<bool> drain(Duration deadline);

    HttpStats stats() const;

  private:
    struct State;
    std::shared_ptr<State> state_;
};

}  // namespace exa::io::http
