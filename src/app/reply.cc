#include "app/reply.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <deque>
#include <optional>
#include <variant>

#include "io/errc.h"

namespace exa::app {

namespace {

namespace asio = boost::asio;

constexpr std::size_t parts_waiting_max = 64;

struct Pipe {
    explicit Pipe(const asio::any_io_executor& executor) : changed(executor) {}

    // Waits until the other side did something; false when `deadline` came first.
    asio::awaitable<bool> wait(std::chrono::steady_clock::time_point deadline) {
        changed.expires_at(deadline);
        const auto [stopped] = co_await changed.async_wait(asio::as_tuple(asio::use_awaitable));
        co_return static_cast<bool>(stopped);
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
        while (pipe->parts.size() >= parts_waiting_max && !pipe->cancelled)
            co_await pipe->wait(std::chrono::steady_clock::time_point::max());
        if (pipe->cancelled) co_return error(io::errc::cancelled);
        pipe->parts.push_back(std::move(part));
        pipe->changed.cancel();
        co_return success();
    }

    void on_cancel(std::function<void()> handler) override {
        if (pipe_->cancelled && handler) return handler();
        pipe_->on_cancel = std::move(handler);
    }

  private:
    std::shared_ptr<Pipe> pipe_;
};

class Reader final : public ReplyReader {
  public:
    explicit Reader(std::shared_ptr<Pipe> pipe) : pipe_(std::move(pipe)) {}
    ~Reader() override { Reader::cancel(); }

    asio::awaitable<Result<ReplyPart>> read(Duration timeout) override {
        const std::shared_ptr<Pipe> pipe = pipe_;
        const auto deadline = std::chrono::steady_clock::now() + timeout;
        while (pipe->parts.empty() && !pipe->writer_gone && !pipe->cancelled)
            if (!co_await pipe->wait(deadline)) co_return error(io::errc::timed_out);
        if (pipe->cancelled) co_return error(io::errc::cancelled);
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

class LinkWriter final : public ReplyWriter {
  public:
    explicit LinkWriter(std::shared_ptr<io::LinkStream> stream) : stream_(std::move(stream)) {}

    asio::awaitable<Result<void>> write(ReplyPart part) override {
        const std::shared_ptr<io::LinkStream> stream = stream_;
        if (auto* data = std::get_if<wire::Data>(&part)) co_return co_await stream->write_data(std::move(*data));
        if (auto* head = std::get_if<wire::Head>(&part)) co_return co_await stream->write_head(std::move(*head));
        co_return co_await stream->write_end(std::get<wire::End>(std::move(part)));
    }

    void on_cancel(std::function<void()> handler) override { stream_->on_cancel(std::move(handler)); }

  private:
    std::shared_ptr<io::LinkStream> stream_;
};

class LinkReader final : public ReplyReader {
  public:
    explicit LinkReader(std::shared_ptr<io::LinkStream> stream) : stream_(std::move(stream)) {}

    asio::awaitable<Result<ReplyPart>> read(Duration timeout) override { return stream_->read(timeout); }
    void cancel() override { stream_->cancel(); }

  private:
    std::shared_ptr<io::LinkStream> stream_;
};

}  // namespace

std::shared_ptr<ReplyWriter> reply_writer(std::shared_ptr<io::LinkStream> stream) {
    return std::make_shared<LinkWriter>(std::move(stream));
}

std::shared_ptr<ReplyReader> reply_reader(std::shared_ptr<io::LinkStream> stream) {
    return std::make_shared<LinkReader>(std::move(stream));
}

LocalReply make_local_reply(const asio::any_io_executor& executor) {
    const auto pipe = std::make_shared<Pipe>(executor);
    return {std::make_shared<Writer>(pipe), std::make_shared<Reader>(pipe)};
}

}  // namespace exa::app
