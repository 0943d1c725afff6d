// Upstream: kept-alive connections of one thread to one HTTP/1.1 server, for whoever passes its answers on as they
// come.
//
// A connection that the server is just closing may swallow a request. So idle connections live shorter here than there,
// and a request on a used connection that ends without a byte of an answer is sent once more, on a new one. Nothing
// else is ever repeated.
//
// Threading: a pool and its calls belong to the one thread that runs their executor.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "io/http/response_parser.h"

namespace exa::io::http {

struct UpstreamConfig {
    // A name or an address, IPv6 without brackets; a name is looked up for every new connection.
    std::string host;
    std::uint16_t port = 0;
    // Of the look-up and the connect together. Default 2 s.
    Duration connect_timeout = std::chrono::seconds(2);
    // An idle connection is closed after this. Default 4 s: common servers wait for 5 s. One that tells its time
    // (Keep-Alive: timeout=N) gets a second less than that, if it is shorter.
    Duration idle_timeout = std::chrono::seconds(4);
    // Idle connections kept. Default 256.
    std::size_t idle_max = 256;
};

// Who wants an answer. Called from the event loop; it may cancel the call, and must not destroy it.
class UpstreamSink : public ResponseSink {
  public:
    // The answer is complete, or it never will be: errc::name_not_resolved, connect_failed or timed_out (nothing was
    // sent), broken, malformed, cancelled (on_body gave false), closed (of the pool). The last call.
    virtual void on_end(Result<void> end) = 0;
};

class UpstreamConnection;

class UpstreamPool : public std::enable_shared_from_this<UpstreamPool> {
  public:
    using Clock = std::chrono::steady_clock;

    UpstreamPool(const boost::asio::any_io_executor& executor, UpstreamConfig config);
    ~UpstreamPool();
    UpstreamPool(const UpstreamPool&) = delete;
    UpstreamPool& operator=(const UpstreamPool&) = delete;

    // Calls that have sent their request, or are connecting, and have not got a byte of an answer end with
    // errc::timed_out.
    void drop_unanswered();
    // Calls under way end with errc::closed, and so do later ones.
    void close();

    std::size_t idle() const { return idle_.size(); }
    // Connections made so far.
    std::uint64_t connects() const { return connects_; }

  private:
    friend class UpstreamCall;
    friend class UpstreamConnection;

    // Null when none is idle.
    std::shared_ptr<UpstreamConnection> take_idle();
    std::shared_ptr<UpstreamConnection> make();
    void put_idle(std::shared_ptr<UpstreamConnection> connection);
    void drop_idle(const UpstreamConnection& connection);
    void write_later(std::shared_ptr<UpstreamConnection> connection);
    void await_sweep();

    const boost::asio::any_io_executor executor_;
    const UpstreamConfig config_;
    std::unordered_set<UpstreamConnection*> all_;                // they leave it when they end
    std::vector<std::shared_ptr<UpstreamConnection>> idle_;      // the last one used last
    std::vector<std::shared_ptr<UpstreamConnection>> to_write_;  // at the end of this loop iteration
    std::vector<std::shared_ptr<UpstreamConnection>> writing_;
    boost::asio::steady_timer sweep_;
    bool sweeping_ = false;
    bool closed_ = false;
    std::uint64_t connects_ = 0;
};

// One request and its answer.
class UpstreamCall {
  public:
    // The sink outlives the call.
    UpstreamCall(std::shared_ptr<UpstreamPool> pool, UpstreamSink& sink);
    // As cancel().
    ~UpstreamCall();
    UpstreamCall(const UpstreamCall&) = delete;
    UpstreamCall& operator=(const UpstreamCall&) = delete;

    // Once. `head` ends with its empty line, and may have the body, or its beginning, after that. The sink is never
    // called in here.
    void send(std::string head, std::string body);
    // Whether more of the answer is wanted at present. What has been read already still comes, 32 KiB at most.
    void set_reading(bool reading);
    // The sink hears nothing more, and the connection closes unless the answer was complete. Idempotent.
    void cancel();

  private:
    friend class UpstreamConnection;

    void connect();
    void fail(Error why);

    const std::shared_ptr<UpstreamPool> pool_;
    UpstreamSink& sink_;
    std::string head_;
    std::string body_;
    std::shared_ptr<UpstreamConnection> connection_;  // while the answer is not complete
    bool reading_ = true;
};

}  // namespace exa::io::http
