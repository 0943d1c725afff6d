#include "io/http/upstream.h"

#include <algorithm>
#include <utility>

#include "io/errc.h"
#include "io/http/upstream_connection.h"
#include "io/loop_hooks.h"

namespace exa::io::http {

namespace asio = boost::asio;

namespace {

// How often idle connections are looked at; each is also looked at before it is used.
constexpr std::chrono::seconds sweep_period{1};

}  // namespace

UpstreamPool::UpstreamPool(const asio::any_io_executor& executor, UpstreamConfig config)
    : executor_(executor), config_(std::move(config)), sweep_(executor) {}

UpstreamPool::~UpstreamPool() {
    for (const auto& connection : idle_) connection->leave();
}

std::shared_ptr<UpstreamConnection> UpstreamPool::take_idle() {
    while (!idle_.empty()) {
        auto connection = std::move(idle_.back());
        idle_.pop_back();
        if (Clock::now() < connection->idle_until()) return connection;
        connection->leave();
    }
    return nullptr;
}

std::shared_ptr<UpstreamConnection> UpstreamPool::make() {
    ++connects_;
    return std::make_shared<UpstreamConnection>(shared_from_this());
}

void UpstreamPool::put_idle(std::shared_ptr<UpstreamConnection> connection) {
    if (closed_ || idle_.size() >= config_.idle_max) {
        connection->leave();
        return;
    }
    idle_.push_back(std::move(connection));
    if (!std::exchange(sweeping_, true)) await_sweep();
}

void UpstreamPool::drop_idle(const UpstreamConnection& connection) {
    std::erase_if(idle_, [&](const auto& one) { return one.get() == &connection; });
}

// All requests of one iteration of the loop leave one after the other: a server that is woken for the first is still
// awake for the rest.
void UpstreamPool::write_later(std::shared_ptr<UpstreamConnection> connection) {
    to_write_.push_back(std::move(connection));
    if (to_write_.size() > 1) return;
    LoopHooks::of(executor_).at_end([weak = weak_from_this()] {
        const auto self = weak.lock();
        if (!self) return;
        self->writing_.swap(self->to_write_);
        for (const auto& one : self->writing_) one->write();
        self->writing_.clear();
    });
}

void UpstreamPool::await_sweep() {
    sweep_.expires_after(sweep_period);
    sweep_.async_wait([weak = weak_from_this()](const boost::system::error_code& code) {
        const auto self = weak.lock();
        if (code || !self) return;
        const auto now = Clock::now();
        std::erase_if(self->idle_, [&](const auto& one) {
            if (now < one->idle_until()) return false;
            one->leave();
            return true;
        });
        self->sweeping_ = !self->idle_.empty();
        if (self->sweeping_) self->await_sweep();
    });
}

void UpstreamPool::drop_unanswered() {
    const auto self = shared_from_this();
    // Sinks may do anything to the set.
    std::vector<std::shared_ptr<UpstreamConnection>> waiting;
    for (UpstreamConnection* const connection : all_)
        if (connection->is_unanswered()) waiting.push_back(connection->shared_from_this());
    for (const auto& connection : waiting) connection->shut(error(errc::timed_out, "the server does not answer"));
}

void UpstreamPool::close() {
    const auto self = shared_from_this();
    closed_ = true;
    sweep_.cancel();
    for (const auto& connection : std::exchange(idle_, {})) connection->leave();
    // Sinks may do anything to the set.
    std::vector<std::shared_ptr<UpstreamConnection>> busy;
    for (UpstreamConnection* const connection : all_) busy.push_back(connection->shared_from_this());
    for (const auto& connection : busy) connection->shut(error(errc::closed));
}

UpstreamCall::UpstreamCall(std::shared_ptr<UpstreamPool> pool, UpstreamSink& sink)
    : pool_(std::move(pool)), sink_(sink) {}

UpstreamCall::~UpstreamCall() {
    cancel();
}

void UpstreamCall::send(std::string head, std::string body) {
    head_ = std::move(head);
    body_ = std::move(body);
    if (auto idle = pool_->take_idle()) {
        connection_ = std::move(idle);
        connection_->send(*this);
        return;
    }
    connect();
}

void UpstreamCall::connect() {
    connection_ = pool_->make();
    connection_->connect(*this, pool_->config_);
}

void UpstreamCall::set_reading(bool reading) {
    reading_ = reading;
    if (reading && connection_) connection_->read_more();
}

void UpstreamCall::cancel() {
    if (const auto connection = std::exchange(connection_, nullptr)) connection->leave();
}

}  // namespace exa::io::http
