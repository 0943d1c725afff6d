// What the coroutines of io share: a short name for awaitables, and a wake-up signal.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "base/time.h"

namespace exa::io {

template <class T>
using Awaitable = boost::asio::awaitable<T>;

// Completes an operation with its error code as the first part of a tuple, never by a throw.
inline constexpr auto as_result = boost::asio::as_tuple(boost::asio::use_awaitable);

// Wakes coroutines of one thread that wait for a condition. There is no memory of a notification: check the condition,
// then wait, in a loop.
class Signal {
  public:
    explicit Signal(const boost::asio::any_io_executor& executor)
        : timer_(executor, boost::asio::steady_timer::time_point::max()) {}

    void notify() { timer_.cancel(); }

    Awaitable<void> wait() { co_await timer_.async_wait(as_result); }

    // As wait(), for at most until `deadline`. Only for a signal that has one waiter.
    Awaitable<void> wait_until(boost::asio::steady_timer::time_point deadline) {
        timer_.expires_at(deadline);
        co_await timer_.async_wait(as_result);
        timer_.expires_at(boost::asio::steady_timer::time_point::max());
    }

  private:
    boost::asio::steady_timer timer_;
};

// True when the coroutine that asks is being cancelled (the other side of an `||` won).
inline Awaitable<bool> is_cancelled() {
    const auto state = co_await boost::asio::this_coro::cancellation_state;
    co_return state.cancelled() != boost::asio::cancellation_type::none;
}

}  // namespace exa::io
