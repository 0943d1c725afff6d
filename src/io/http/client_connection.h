// ClientConnection: one HTTP/1.1 connection to a server, kept alive for many requests one after another.
//
// Its owner watches the time: it calls check() now and then. That is cheaper than timers when there are thousands.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "base/endpoint.h"
#include "base/result.h"
#include "base/time.h"
#include "io/async.h"
#include "io/errc.h"
#include "io/http/response_parser.h"

namespace exa::io::http {

class ClientConnection {
  public:
    using Clock = std::chrono::steady_clock;

    // All calls come from the executor's one thread.
    explicit ClientConnection(const boost::asio::any_io_executor& executor);

    // errc::timed_out, errc::connect_failed; see was_refused().
    Awaitable<Result<void>> connect(Endpoint endpoint, Duration timeout);
    // The last connect() found nothing that listens.
    bool was_refused() const { return refused_; }

    // One request, head and body, as bytes that outlive the call, and the whole of its answer. errc::timed_out when the
    // first byte or any further one does not come in time, errc::broken, errc::malformed, errc::cancelled (the sink or
    // close()).
    Awaitable<Result<void>> exchange(std::string_view request, ResponseSink& sink, Duration first_byte_timeout,
                                     Duration idle_timeout);

    // Behind an exchange without error: whether the server lets another follow.
    bool keeps_alive() const { return keeps_alive_ && filled_ == 0; }
    // The same, and it has not closed meanwhile.
    bool is_reusable();

    // Ends what runs when its time is up.
    void check(Clock::time_point now);
    // Whatever runs ends with errc::cancelled.
    void close();

  private:
    Awaitable<Result<void>> receive(Duration idle_timeout);
    Error fault(errc otherwise, std::string_view what) const;
    void shut();

    boost::asio::ip::tcp::socket socket_;
    ResponseParser parser_;
    std::vector<char> buffer_;
    std::size_t filled_ = 0;  // bytes at the front of buffer_ that the parser has not taken
    Clock::time_point deadline_ = Clock::time_point::max();
    bool late_ = false;
    bool closed_ = false;
    bool refused_ = false;
    bool keeps_alive_ = false;
};

}  // namespace exa::io::http
