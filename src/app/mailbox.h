// Mailbox: values pushed by anyone on an executor, awaited by one coroutine of the same executor.
//
// Single-threaded by construction: push() from another thread must be posted to the executor first.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

namespace exa::app {

template <class T>
class Mailbox {
  public:
    explicit Mailbox(const boost::asio::any_io_executor& executor)
        : filled_(executor, std::chrono::steady_clock::time_point::max()) {}

    void push(T value) {
        values_.push_back(std::move(value));
        filled_.cancel();
    }

    // What was pushed since the last call, from 1 to `count_max` values: what is ready in one turn is taken in one
    // turn.
    boost::asio::awaitable<std::vector<T>> take(std::size_t count_max) {
        while (values_.empty()) {
            filled_.expires_at(std::chrono::steady_clock::time_point::max());
            co_await filled_.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
        }
        if (values_.size() <= count_max) co_return std::exchange(values_, {});
        const auto end = values_.begin() + static_cast<std::ptrdiff_t>(count_max);
        std::vector<T> taken(std::make_move_iterator(values_.begin()), std::make_move_iterator(end));
        values_.erase(values_.begin(), end);
        co_return taken;
    }

  private:
    std::vector<T> values_;
    boost::asio::steady_timer filled_;
};

}  // namespace exa::app
