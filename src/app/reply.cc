#include "app/reply.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <cstddef>
#include <utility>

#include "io/errc.h"

namespace exa::app {

namespace {

namespace asio = boost::asio;

class LinkReply final : public ReplyReader {
  public:
    explicit LinkReply(std::shared_ptr<io::LinkStream> stream) : stream_(std::move(stream)) {}

    std::optional<Result<ReplyPart>> poll() override { return stream_->poll(); }
    void on_ready(std::function<void()> handler) override { stream_->on_ready(std::move(handler)); }
    void cancel() override { stream_->cancel(); }

  private:
    std::shared_ptr<io::LinkStream> stream_;
};

class KnownReply final : public ReplyReader {
  public:
    explicit KnownReply(std::vector<ReplyPart> parts) : parts_(std::move(parts)) {}

    std::optional<Result<ReplyPart>> poll() override {
        if (cancelled_) return Result<ReplyPart>(error(io::errc::cancelled));
        if (next_ == parts_.size()) return Result<ReplyPart>(error(io::errc::closed, "the reply has ended"));
        return Result<ReplyPart>(std::move(parts_[next_++]));
    }
    // Nobody ever waits.
    void on_ready(std::function<void()>) override {}
    void cancel() override { cancelled_ = true; }

  private:
    std::vector<ReplyPart> parts_;
    std::size_t next_ = 0;
    bool cancelled_ = false;
};

}  // namespace

PulledReply::PulledReply(const asio::any_io_executor& executor, std::shared_ptr<ReplyReader> reply)
    : reply_(std::move(reply)), wake_(executor) {
    reply_->on_ready([this] { wake_.cancel(); });
}

PulledReply::~PulledReply() {
    reply_->on_ready({});
}

asio::awaitable<Result<ReplyPart>> PulledReply::read(std::optional<Duration> timeout) {
    using Clock = std::chrono::steady_clock;
    const auto deadline = timeout ? Clock::now() + *timeout : Clock::time_point::max();
    while (true) {
        if (auto part = reply_->poll()) co_return std::move(*part);
        if (Clock::now() >= deadline) co_return error(io::errc::timed_out);
        wake_.expires_at(deadline);
        co_await wake_.async_wait(asio::as_tuple(asio::use_awaitable));
    }
}

std::shared_ptr<ReplyReader> reply_of(std::shared_ptr<io::LinkStream> stream) {
    return std::make_shared<LinkReply>(std::move(stream));
}

std::shared_ptr<ReplyReader> reply_of(std::vector<ReplyPart> parts) {
    return std::make_shared<KnownReply>(std::move(parts));
}

}  // namespace exa::app
