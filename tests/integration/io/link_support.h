// Coroutines over the streams of a link, which themselves never wait.
#pragma once

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "base/result.h"
#include "base/time.h"
#include "io/async.h"
#include "io/errc.h"
#include "io/link/inbound_stream.h"
#include "io/link/outbound_stream.h"

namespace exa::io::test {

// Wakes one coroutine when a stream is ready, or at a time.
class StreamWaiter {
  public:
    template <class Stream>
    StreamWaiter(Stream& stream, const boost::asio::any_io_executor& executor)
        : timer_(std::make_shared<boost::asio::steady_timer>(executor)) {
        stream.on_ready([timer = timer_] { timer->cancel(); });
    }
    Awaitable<void> wait(std::chrono::steady_clock::time_point until) {
        timer_->expires_at(until);
        co_await timer_->async_wait(as_result);
    }

  private:
    std::shared_ptr<boost::asio::steady_timer> timer_;
};

// The next frame of a stream; errc::timed_out after `timeout`.
inline Awaitable<Result<link::StreamFrame>> next_frame(std::shared_ptr<link::OutboundStream> stream,
                                                       std::optional<Duration> timeout = std::nullopt) {
    using Clock = std::chrono::steady_clock;
    StreamWaiter ready(*stream, co_await boost::asio::this_coro::executor);
    const auto deadline = timeout ? Clock::now() + *timeout : Clock::time_point::max();
    while (true) {
        if (auto frame = stream->poll()) co_return std::move(*frame);
        if (timeout && Clock::now() >= deadline) co_return error(errc::timed_out, "a frame");
        co_await ready.wait(deadline);
        if (co_await is_cancelled()) co_return error(errc::cancelled);
    }
}

// Waits for room and credit. Data without tokens is sent in pieces, as its room comes.
inline Awaitable<Result<void>> send_data(std::shared_ptr<link::InboundStream> stream, wire::Data data) {
    constexpr std::size_t piece_bytes = 64 * 1024;
    StreamWaiter ready(*stream, co_await boost::asio::this_coro::executor);
    const auto has_room = [&] { return stream->cancelled() || stream->has_room(true); };
    if (!data.tokens.empty() || data.bytes.size() <= piece_bytes) {
        while (!has_room()) co_await ready.wait(std::chrono::steady_clock::time_point::max());
        co_return stream->push_data(data);
    }
    for (std::size_t at = 0; at < data.bytes.size(); at += piece_bytes) {
        while (!has_room()) co_await ready.wait(std::chrono::steady_clock::time_point::max());
        EXA_CO_TRY(stream->push_data({data.offset, {}, data.bytes.substr(at, piece_bytes), data.choice}));
    }
    co_return success();
}

}  // namespace exa::io::test
