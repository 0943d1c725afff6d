// UpstreamConnection: one connection of an UpstreamPool. It reads all the time, also while it is idle, so that a
// server's end is noticed before the next request goes the same way.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "io/async.h"
#include "io/errc.h"
#include "io/http/response_parser.h"
#include "io/http/upstream.h"
#include "io/stream_socket.h"

namespace exa::io::http {

class UpstreamConnection final : public std::enable_shared_from_this<UpstreamConnection>,
                                 private ResponseSink,
                                 private SocketOwner {
  public:
    using Clock = UpstreamPool::Clock;

    explicit UpstreamConnection(const std::shared_ptr<UpstreamPool>& pool);
    ~UpstreamConnection() override;
    UpstreamConnection(const UpstreamConnection&) = delete;
    UpstreamConnection& operator=(const UpstreamConnection&) = delete;

    // Connects as `config` says and then sends what `call` has.
    void connect(UpstreamCall& call, const UpstreamConfig& config);
    // Sends what `call` has on a connection that was idle.
    void send(UpstreamCall& call);
    // The call is heard of no more.
    void leave();
    // Reads when its call wants to.
    void read_more();
    // The call, if there is one, ends with `why`.
    void shut(Error why);
    // Sends what there is, as far as the socket takes it now.
    void write();
    Clock::time_point idle_until() const { return idle_until_; }
    // It has a call, of whose answer no byte has come.
    bool is_unanswered() const { return call_ != nullptr && !begun_; }

  private:
    Awaitable<Result<void>> open(UpstreamConfig config);
    Awaitable<void> open_and_send(UpstreamConfig config);
    void begin();
    void on_ready() override;
    void read_now();
    void on_read(const boost::system::error_code& code, std::string_view bytes);
    void take(std::string_view bytes);
    void finish();
    // The connection broke: the call ends, or begins again on another.
    void give_up(Error why);
    void close_socket();

    void on_head(const ResponseHead& head) override;
    bool on_body(std::string_view piece) override;

    const std::weak_ptr<UpstreamPool> pool_;
    boost::asio::ip::tcp::socket connecting_;
    StreamSocket socket_;
    boost::asio::steady_timer connect_timer_;
    ResponseParser parser_;
    std::string rest_;  // of what was read: the parser takes it with more after it
    UpstreamCall* call_ = nullptr;
    std::string head_;  // being written
    std::string body_;
    std::size_t sent_ = 0;  // bytes of both
    bool writing_ = false;
    bool reading_ = false;  // a read is waited for
    bool used_ = false;     // it has carried a request before
    bool begun_ = false;    // a byte of the answer has come
    bool late_ = false;
    Duration keep_for_;
    Clock::time_point idle_until_{};
};

}  // namespace exa::io::http
