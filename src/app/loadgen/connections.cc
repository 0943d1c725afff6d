#include "app/loadgen/connections.h"

#include <utility>

#include "io/errc.h"

namespace exa::app::loadgen {

using exa::loadgen::Failure;

io::Awaitable<LoadConnections::Taken> LoadConnections::take(Duration timeout) {
    const TimePoint give_up = clock_.now() + timeout;
    for (bool waited = false;; waited = true) {
        if (closed_) co_return Taken{nullptr, Failure::unfinished, "the run ended"};
        if (auto connection = take_idle()) {
            busy_.insert(connection.get());
            co_return Taken{std::move(connection), Failure::none, {}};
        }
        const TimePoint now = clock_.now();
        if (waited && now >= give_up) co_return Taken{nullptr, Failure::connect_timeout, "no connection came free"};
        if (may_connect()) co_return co_await connect(give_up - now);
        Waiter waiter{boost::asio::steady_timer(context_, io::clock::SystemClock::to_steady(give_up))};
        // One that was overtaken by a newer request stays the first.
        const auto place = waiters_.insert(waited ? waiters_.begin() : waiters_.end(), &waiter);
        co_await waiter.timer.async_wait(io::as_result);
        if (!waiter.woken) waiters_.erase(place);
    }
}

io::Awaitable<LoadConnections::Taken> LoadConnections::connect(Duration timeout) {
    auto connection = std::make_unique<Connection>(context_.get_executor());
    busy_.insert(connection.get());
    ++connecting_;
    const auto done = co_await connection->connect(endpoint_, timeout);
    --connecting_;
    if (!done) busy_.erase(connection.get());
    wake_one();
    if (done) co_return Taken{std::move(connection), Failure::none, {}};
    const Failure failure = connection->was_refused()                  ? Failure::refused
                            : done.error().code == io::errc::timed_out ? Failure::connect_timeout
                                                                       : Failure::unreachable;
    co_return Taken{nullptr, failure, done.error().message()};
}

bool LoadConnections::may_connect() const {
    return busy_.size() < limit_ && connecting_ < (waiters_.empty() ? connecting_max : connecting_max_crowded);
}

void LoadConnections::hand_back(std::unique_ptr<Connection> connection) {
    busy_.erase(connection.get());
    if (!closed_ && connection->keeps_alive()) idle_.push_back(std::move(connection));
    wake_one();
}

std::unique_ptr<io::http::ClientConnection> LoadConnections::take_idle() {
    while (!idle_.empty()) {
        auto connection = std::move(idle_.back());
        idle_.pop_back();
        if (connection->is_reusable()) return connection;
    }
    return nullptr;
}

void LoadConnections::wake_one() {
    if (waiters_.empty()) return;
    waiters_.front()->woken = true;
    waiters_.front()->timer.cancel();
    waiters_.pop_front();
}

void LoadConnections::check(Connection::Clock::time_point now) {
    for (Connection* connection : busy_) connection->check(now);
}

void LoadConnections::close() {
    closed_ = true;
    for (Connection* connection : busy_) connection->close();
    while (!waiters_.empty()) wake_one();
}

}  // namespace exa::app::loadgen
