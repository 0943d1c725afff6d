#include "io/stream_socket.h"

#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/error.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cerrno>
#include <optional>
#include <vector>

#include "base/check.h"

namespace exa::io {

namespace asio = boost::asio;

namespace {

constexpr std::size_t events_max = 256;
constexpr std::size_t buffers_max = 8;
constexpr std::size_t shared_bytes = 64 * 1024;

boost::system::error_code last_error() {
    if (errno == EAGAIN) return asio::error::would_block;
    return {errno, boost::system::system_category()};
}

}  // namespace

// The epoll set of one io_context.
class SocketWatch final : public asio::execution_context::service {
  public:
    static inline asio::execution_context::id id;

    explicit SocketWatch(asio::execution_context& context)
        : service(context), set_(epoll_create1(EPOLL_CLOEXEC)), descriptor_(static_cast<asio::io_context&>(context)) {
        boost::system::error_code code;
        if (set_ >= 0) descriptor_->assign(set_, code);
        if (code) close(set_);
    }

    bool add(StreamSocket& socket) {
        epoll_event event{};
        event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
        event.data.ptr = &socket;
        if (!descriptor_ || !descriptor_->is_open() || epoll_ctl(set_, EPOLL_CTL_ADD, socket.handle_, &event) != 0)
            return false;
        ++sockets_;
        wait();
        return true;
    }

    // A socket leaves the set when it is closed.
    void forget(const StreamSocket& socket) {
        for (std::size_t i = at_; i < count_; ++i)
            if (events_[i].data.ptr == &socket) events_[i].data.ptr = nullptr;
        // A context whose sockets are closed has nothing left to wait for.
        if (--sockets_ == 0 && descriptor_) descriptor_->cancel();
    }

    std::span<char> shared_buffer() { return shared_; }

  private:
    void shutdown() override { descriptor_.reset(); }

    void wait() {
        if (std::exchange(waiting_, true)) return;
        descriptor_->async_wait(asio::posix::descriptor_base::wait_read, [this](const auto& code) {
            waiting_ = false;
            if (!code) tell();
            if (sockets_ > 0) wait();
        });
    }

    void tell() {
        count_ = static_cast<std::size_t>(std::max(0, epoll_wait(set_, events_.data(), events_max, 0)));
        for (at_ = 0; at_ < count_;) {
            const epoll_event& event = events_[at_++];
            // Hundreds of sockets do not stay in the cache from one iteration to the next.
            if (at_ < count_) __builtin_prefetch(events_[at_].data.ptr);
            auto* const socket = static_cast<StreamSocket*>(event.data.ptr);
            if (socket == nullptr) continue;
            socket->note(event.events);
            socket->owner_->on_ready();
        }
        count_ = 0;
    }

    const int set_;
    std::optional<asio::posix::stream_descriptor> descriptor_;  // of the set; nothing once the context goes
    std::size_t sockets_ = 0;
    bool waiting_ = false;
    std::vector<char> shared_ = std::vector<char>(shared_bytes);
    std::array<epoll_event, events_max> events_{};
    std::size_t count_ = 0;  // of the events that are being told
    std::size_t at_ = 0;     // those from here on have not been
};

void StreamSocket::open(asio::io_context& context, int handle, SocketOwner& owner) {
    EXA_CHECK(handle_ < 0);
    handle_ = handle;
    owner_ = &owner;
    auto& watch = asio::use_service<SocketWatch>(context);
    if (!watch.add(*this)) return close();
    watch_ = &watch;
}

void StreamSocket::note(std::uint32_t events) {
    if ((events & (EPOLLHUP | EPOLLERR)) != 0) broken_ = true;
    if ((events & EPOLLRDHUP) != 0 || broken_) ended_ = true;
    if ((events & EPOLLIN) != 0 || ended_) may_read_ = true;
    if ((events & EPOLLOUT) != 0 || ended_) may_write_ = true;
}

StreamSocket::Done StreamSocket::read(std::span<char> into) {
    const ssize_t got = ::recv(handle_, into.data(), into.size(), MSG_DONTWAIT);
    if (got < 0) {
        const auto code = last_error();
        if (code == asio::error::would_block) may_read_ = false;
        return {code, 0};
    }
    if (got == 0) return {asio::error::eof, 0};
    const auto bytes = static_cast<std::size_t>(got);
    if (bytes < into.size() && !ended_) may_read_ = false;
    return {{}, bytes};
}

std::span<char> StreamSocket::shared_buffer() const {
    return watch_->shared_buffer();
}

StreamSocket::Done StreamSocket::write(std::span<const asio::const_buffer> buffers) {
    ssize_t sent = 0;
    // One buffer is sent by a cheaper system call.
    if (buffers.size() == 1) {
        sent = ::send(handle_, buffers[0].data(), buffers[0].size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    } else {
        EXA_CHECK(buffers.size() <= buffers_max);
        std::array<iovec, buffers_max> pieces{};
        std::ranges::transform(buffers, pieces.begin(), [](const asio::const_buffer& buffer) {
            return iovec{const_cast<void*>(buffer.data()), buffer.size()};
        });
        msghdr message{};
        message.msg_iov = pieces.data();
        message.msg_iovlen = buffers.size();
        sent = ::sendmsg(handle_, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    }
    if (sent >= 0) return {{}, static_cast<std::size_t>(sent)};
    const auto code = last_error();
    if (code == asio::error::would_block) may_write_ = false;
    return {code, 0};
}

bool StreamSocket::has_input() const {
    int bytes = 0;
    return is_open() && ioctl(handle_, FIONREAD, &bytes) == 0 && bytes > 0;
}

void StreamSocket::shutdown_send() {
    ::shutdown(handle_, SHUT_WR);
}

void StreamSocket::close() {
    if (handle_ < 0) return;
    ::close(std::exchange(handle_, -1));
    if (watch_ != nullptr) std::exchange(watch_, nullptr)->forget(*this);
}

}  // namespace exa::io
