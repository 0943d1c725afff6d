// LoadConnections: the connections of one thread of a load test to one target.
//
// Kept alive, each for one request at a time, the one used last first. A burst that finds none idle does not open one
// for each of its requests, which servers refuse and which costs both sides more than the requests do: while others
// wait, few are made at once, and connections that come back serve who waits. So as many are open in the end as the
// load needs, and never more than the limit.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <list>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/endpoint.h"
#include "base/time.h"
#include "io/async.h"
#include "io/clock/system_clock.h"
#include "io/http/client_connection.h"
#include "loadgen/outcome.h"

namespace exa::app::loadgen {

class LoadConnections {
  public:
    using Connection = io::http::ClientConnection;

    static constexpr std::size_t connecting_max = 16;
    static constexpr std::size_t connecting_max_crowded = 4;  // while requests wait

    // At most `limit` are open. The context and the clock outlive this object.
    LoadConnections(boost::asio::io_context& context, Endpoint endpoint, const io::clock::SystemClock& clock,
                    std::size_t limit)
        : context_(context), endpoint_(endpoint), clock_(clock), limit_(limit) {}

    struct Taken {
        std::unique_ptr<Connection> connection;  // null with a failure
        exa::loadgen::Failure failure = exa::loadgen::Failure::none;
        std::string message;
    };
    // An idle one, or a new one, within `timeout`. To be handed back in any case.
    io::Awaitable<Taken> take(Duration timeout);
    // One that can carry no further request is closed.
    void hand_back(std::unique_ptr<Connection> connection);

    // Ends what runs when its time is up; to be called now and then.
    void check(Connection::Clock::time_point now);
    // Ends everything that runs; nothing is taken any more.
    void close();
    void close_idle() { idle_.clear(); }

  private:
    struct Waiter {
        boost::asio::steady_timer timer;
        bool woken = false;
    };

    std::unique_ptr<Connection> take_idle();
    io::Awaitable<Taken> connect(Duration timeout);
    bool may_connect() const;
    void wake_one();

    boost::asio::io_context& context_;
    const Endpoint endpoint_;
    const io::clock::SystemClock& clock_;
    const std::size_t limit_;
    std::vector<std::unique_ptr<Connection>> idle_;
    std::set<Connection*> busy_;
    std::list<Waiter*> waiters_;
    std::size_t connecting_ = 0;
    bool closed_ = false;
};

}  // namespace exa::app::loadgen
