#include "io/http/upstream_connection.h"

#include <algorithm>
#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <charconv>
#include <optional>
#include <tuple>
#include <utility>

#include "io/net.h"
#include "io/resolve.h"

namespace exa::io::http {

namespace asio = boost::asio;

namespace {

constexpr std::size_t read_bytes = 32 * 1024;
// Beyond the largest header that the parser takes.
constexpr std::size_t rest_bytes_max = 128 * 1024;

// "timeout=5, max=100": seconds that the server keeps an idle connection.
std::optional<std::chrono::seconds> keep_alive_time(std::string_view text) {
    constexpr std::string_view name = "timeout=";
    const auto at = text.find(name);
    if (at == text.npos) return std::nullopt;
    const std::string_view digits = text.substr(at + name.size());
    std::uint32_t seconds = 0;
    const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), seconds);
    if (code != std::errc{}) return std::nullopt;
    return std::chrono::seconds(seconds);
}

}  // namespace

UpstreamConnection::UpstreamConnection(const std::shared_ptr<UpstreamPool>& pool)
    : pool_(pool),
      connecting_(pool->executor_),
      connect_timer_(pool->executor_),
      keep_for_(pool->config_.idle_timeout) {
    pool->all_.insert(this);
}

UpstreamConnection::~UpstreamConnection() {
    if (const auto pool = pool_.lock()) pool->all_.erase(this);
}

void UpstreamConnection::connect(UpstreamCall& call, const UpstreamConfig& config) {
    call_ = &call;
    asio::co_spawn(
        connecting_.get_executor(),
        [self = shared_from_this(), config]() -> Awaitable<void> { co_await self->open_and_send(config); },
        asio::detached);
}

Awaitable<void> UpstreamConnection::open_and_send(UpstreamConfig config) {
    // Whoever connects hears of nothing in the same loop iteration.
    co_await asio::post(connecting_.get_executor(), asio::use_awaitable);
    if (const auto pool = pool_.lock(); !pool || pool->closed_) {
        shut(error(errc::closed));
        co_return;
    }
    connect_timer_.expires_after(config.connect_timeout);
    connect_timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& code) {
        const auto self = weak.lock();
        if (code || !self) return;
        self->late_ = true;
        self->close_socket();
    });
    const auto opened = co_await open(std::move(config));
    connect_timer_.cancel();
    if (call_ == nullptr) {
        close_socket();
        co_return;
    }
    if (!opened) {
        shut(opened.error());
        co_return;
    }
    begin();
}

Awaitable<Result<void>> UpstreamConnection::open(UpstreamConfig config) {
    const std::string host = config.host.find(':') == std::string::npos ? config.host : "[" + config.host + "]";
    const auto found = co_await resolve(host, config.port, config.connect_timeout);
    if (!found) co_return found.error();
    boost::system::error_code code = asio::error::host_not_found;
    for (const Endpoint& endpoint : found.value()) {
        const auto to = to_asio_tcp(endpoint);
        if (call_ == nullptr) co_return error(errc::cancelled);
        close_socket();
        connecting_.open(to.protocol(), code);
        if (!code && !late_) std::tie(code) = co_await connecting_.async_connect(to, as_result);
        if (late_) co_return error(errc::timed_out, host + ":" + std::to_string(config.port));
        if (call_ == nullptr) co_return error(errc::cancelled);
        if (!code) break;
    }
    if (code) co_return error(errc::connect_failed, host + ":" + std::to_string(config.port) + ": " + code.message());
    connecting_.set_option(asio::ip::tcp::no_delay(true), code);
    socket_.open(std::move(connecting_), *this);
    if (!socket_.is_open()) co_return error(errc::connect_failed, host + ": the system watches no more sockets");
    co_return success();
}

void UpstreamConnection::send(UpstreamCall& call) {
    call_ = &call;
    used_ = true;
    begin();
}

void UpstreamConnection::begin() {
    head_ = std::move(call_->head_);
    body_ = std::move(call_->body_);
    begun_ = false;
    parser_.begin(*this);
    sent_ = 0;
    writing_ = true;
    read_more();
    if (const auto pool = pool_.lock()) pool->write_later(shared_from_this());
}

void UpstreamConnection::write() {
    if (!writing_ || call_ == nullptr || !socket_.is_open()) return;
    while (sent_ < head_.size() + body_.size()) {
        const std::size_t of_head = std::min(sent_, head_.size());
        const std::array<asio::const_buffer, 2> rest = {asio::buffer(head_) + of_head,
                                                        asio::buffer(body_) + (sent_ - of_head)};
        const std::span<const asio::const_buffer> both(rest);
        const auto done = socket_.write(body_.empty() ? both.first(1) : both);
        if (done.code == asio::error::would_block) return;
        if (done.code) {
            writing_ = false;
            // A server that refuses early may close its side before it has read everything: its answer still comes.
            // Without a reader nobody else would notice the end.
            if (!reading_) give_up(error(errc::broken, done.code.message()));
            return;
        }
        sent_ += done.bytes;
    }
    writing_ = false;
}

void UpstreamConnection::read_more() {
    if (reading_ || !socket_.is_open() || (call_ != nullptr && !call_->reading_)) return;
    reading_ = true;
    if (socket_.may_read()) asio::post(connecting_.get_executor(), [self = shared_from_this()] { self->read_now(); });
}

void UpstreamConnection::on_ready() {
    const auto self = shared_from_this();
    if (socket_.may_write()) write();
    read_now();
}

void UpstreamConnection::read_now() {
    if (!reading_ || !socket_.is_open() || !socket_.may_read()) return;
    const std::span<char> buffer = socket_.shared_buffer().first(read_bytes);
    const auto done = socket_.read(buffer);
    if (done.code != asio::error::would_block) on_read(done.code, {buffer.data(), done.bytes});
}

void UpstreamConnection::on_read(const boost::system::error_code& code, std::string_view bytes) {
    reading_ = false;
    if (call_ == nullptr) {
        // Nothing may come between answers: bytes would be of nobody's, and an end is the end.
        close_socket();
        if (const auto pool = pool_.lock()) pool->drop_idle(*this);
        return;
    }
    if (code) {
        if (parser_.feed_end()) {
            finish();
            return;
        }
        give_up(error(errc::broken, code == asio::error::eof ? "the server closed the connection" : code.message()));
        return;
    }
    begun_ = true;
    take(bytes);
}

void UpstreamConnection::take(std::string_view bytes) {
    const bool is_rest = !rest_.empty();
    if (is_rest) bytes = rest_.append(bytes);
    const auto taken = parser_.feed(bytes);
    if (call_ == nullptr) return;  // the sink cancelled
    if (!taken) {
        shut(parser_.is_stopped() ? error(errc::cancelled) : error(errc::malformed, parser_.fault()));
        return;
    }
    if (is_rest)
        rest_.erase(0, *taken);
    else
        rest_.assign(bytes, *taken);
    if (parser_.is_done())
        finish();
    else if (rest_.size() >= rest_bytes_max)
        shut(error(errc::malformed, "a header or a chunk's head is too long"));
    else
        read_more();
}

void UpstreamConnection::finish() {
    const auto self = shared_from_this();
    UpstreamCall& call = *std::exchange(call_, nullptr);
    call.connection_.reset();
    const auto pool = pool_.lock();
    if (pool && parser_.keeps_alive() && rest_.empty() && !writing_ && keep_for_ > Duration(0)) {
        idle_until_ = Clock::now() + keep_for_;
        pool->put_idle(self);
        read_more();
    } else {
        close_socket();
    }
    call.sink_.on_end(success());
}

void UpstreamConnection::give_up(Error why) {
    if (!used_ || begun_) {
        shut(std::move(why));
        return;
    }
    const auto self = shared_from_this();
    UpstreamCall& call = *std::exchange(call_, nullptr);
    call.head_ = std::move(head_);
    call.body_ = std::move(body_);
    close_socket();
    call.connect();
}

void UpstreamConnection::shut(Error why) {
    const auto self = shared_from_this();
    close_socket();
    UpstreamCall* const call = std::exchange(call_, nullptr);
    if (call == nullptr) return;
    call->connection_.reset();
    call->sink_.on_end(std::move(why));
}

void UpstreamConnection::leave() {
    call_ = nullptr;
    close_socket();
}

void UpstreamConnection::close_socket() {
    boost::system::error_code ignored;
    connecting_.close(ignored);
    socket_.close();
}

void UpstreamConnection::on_head(const ResponseHead& head) {
    if (const auto field = head.headers.find("keep-alive"))
        if (const auto time = keep_alive_time(*field))
            keep_for_ = std::min<Duration>(keep_for_, *time - std::chrono::seconds(1));
    if (call_ != nullptr) call_->sink_.on_head(head);
}

bool UpstreamConnection::on_body(std::string_view piece) {
    return call_ != nullptr && call_->sink_.on_body(piece);
}

}  // namespace exa::io::http
