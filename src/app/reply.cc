#include "app/reply.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <deque>
#include <optional>

#include "io/errc.h"

namespace exa::app {

namespace {

namespace asio = boost::asio;

constexpr std::size_t parts_waiting_max = 64;

struct Pipe {
    explicit Pipe(const asio::any_io_executor& executor) : changed(executor) {}

    // Waits until the other side did something.
    asio::awaitable<void> wait() {
        changed.expires_at(std::chrono::steady_clock::time_point::max());
        co_await changed.async_wait(asio::as_tuple(asio::use_awaitable));
    }

    std::deque<ReplyPart> parts;
    bool cancelled = false;
    bool writer_gone = false;
    std::function<void()> on_cancel;
    asio::steady_timer changed;
};

class Writer final : public ReplyWriter {
  public:
    explicit Writer(std::shared_ptr<Pipe> pipe) : pipe_(std::move(pipe)) {}
    ~Writer() override {
        pipe_->writer_gone = true;
        pipe_->changed.cancel();
    }

    asio::awaitable<Result<void>> write(ReplyPart part) override {
        const std::shared_ptr<Pipe> pipe = pipe_;
        while (pipe->parts.size() >= parts_waiting_max && !pipe->cancelled) co_await pipe->wait();
        if (pipe->cancelled) co_return error(io::errc::cancelled);
        pipe->parts.push_back(std::move(part));
        pipe->changed.cancel();
        co_return success();
    }

    void on_cancel(std::function<void()> handler) override {
        if (pipe_->cancelled) return handler();
        pipe_->on_cancel = std::move(handler);
    }

  private:
    std::shared_ptr<Pipe> pipe_;
};

class Reader final : public ReplyReader {
  public:
    explicit Reader(std::shared_ptr<Pipe> pipe) : pipe_(std::move(pipe)) {}
    ~Reader() override { Reader::cancel(); }

    asio::awaitable<Result<ReplyPart>> read() override {
        const std::shared_ptr<Pipe> pipe = pipe_;
        while (pipe->parts.empty() && !pipe->writer_gone) co_await pipe->wait();
        if (pipe->parts.empty()) co_return error(io::errc::broken, "the replica stopped");
        ReplyPart part = std::move(pipe->parts.front());
        pipe->parts.pop_front();
        pipe->changed.cancel();
        co_return part;
    }

    void cancel() override {
        if (std::exchange(pipe_->cancelled, true)) return;
        pipe_->changed.cancel();
        if (const auto handler = std::exchange(pipe_->on_cancel, nullptr)) handler();
    }

  private:
    std::shared_ptr<Pipe> pipe_;
};

}  // namespace

LocalReply make_local_reply(const asio::any_io_executor& executor) {
    const auto pipe = std::make_shared<Pipe>(executor);
    return {std::make_shared<Writer>(pipe), std::make_shared<Reader>(pipe)};
}

}  // namespace exa::app
