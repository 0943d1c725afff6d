#include <boost/asio/post.hpp>
#include <limits>
#include <utility>

#include "base/check.h"
#include "io/errc.h"
#include "io/link/connection.h"
#include "io/link/link.h"
#include "wire/errc.h"

namespace exa::io {

namespace asio = boost::asio;

namespace {

// Data without tokens is cut to this, so that streams take turns on the link.
constexpr std::size_t piece_bytes = 64 * 1024;

bool is_one_frame(const wire::Data& data) {
    return !data.tokens.empty() || data.bytes.size() <= piece_bytes;
}

bool fits_frame(const wire::Data& data) {
    return wire::data_payload_size(data) <= wire::frame_payload_max(wire::FrameType::data) &&
           data.tokens.size() <= std::numeric_limits<std::uint16_t>::max();
}

Error broken_error(const Link& link) {
    return error(errc::broken, "link to " + to_string(link.peer()));
}

}  // namespace

// The link's side of a stream.

Awaitable<Result<std::shared_ptr<LinkStream>>> Link::open(std::shared_ptr<const wire::Open> open) {
    const auto self = shared_from_this();
    while (usable() && !has_room()) {
        co_await room_.wait();
        if (co_await is_cancelled()) co_return error(errc::cancelled);
    }
    co_return open_now(*open);
}

Result<std::shared_ptr<LinkStream>> Link::open_now(const wire::Open& open) {
    if (!usable()) return error(errc::closed, "link to " + to_string(peer_));
    if (streams_.size() >= context_->config.streams_max || last_stream_ == std::numeric_limits<std::uint32_t>::max())
        return error(errc::too_many, "streams to " + to_string(peer_));
    auto frame = wire::encode_open(last_stream_ + 1, open);
    if (!frame) return error(errc::too_large, frame.error().detail);
    const auto state = std::make_shared<StreamState>(++last_stream_, transport_->executor());
    streams_.emplace(state->id, state);
    ++context_->stats.streams_now;
    ++context_->stats.streams_opened;
    queue_bulk({std::move(frame).value(), {}, nullptr}, state);
    return std::make_shared<LinkStream>(shared_from_this(), state);
}

Awaitable<Result<StreamFrame>> Link::read(std::shared_ptr<StreamState> state, std::optional<Duration> timeout) {
    using Clock = std::chrono::steady_clock;
    const auto self = shared_from_this();
    const auto deadline = timeout ? Clock::now() + *timeout : Clock::time_point::max();
    while (true) {
        if (auto frame = poll(*state)) co_return std::move(*frame);
        if (timeout && Clock::now() >= deadline) co_return error(errc::timed_out, "answer of " + to_string(peer_));
        co_await state->wake.wait_until(deadline);
        if (co_await is_cancelled()) co_return error(errc::cancelled);
    }
}

std::optional<Result<StreamFrame>> Link::poll(StreamState& state) {
    using Polled = Result<StreamFrame>;
    if (state.inbox.empty()) {
        if (state.cancelled) return Polled(error(errc::cancelled));
        if (state.ended) return Polled(error(errc::closed, "the stream has ended"));
        if (state.broken) return Polled(broken_error(*this));
        return std::nullopt;
    }
    StreamFrame frame = state.inbox.pop();
    if (const auto* data = std::get_if<wire::Data>(&frame)) {
        state.ungranted += static_cast<std::uint32_t>(wire::data_payload_size(*data));
        const bool wanted = !state.ended && !state.broken && !state.cancelled;
        if (wanted && state.ungranted >= wire::stream_credit_initial / 2) {
            state.credit += state.ungranted;
            queue_control(wire::encode_credit(state.id, std::exchange(state.ungranted, 0)));
        }
    }
    return Polled(std::move(frame));
}

Awaitable<Result<void>> Link::write(std::shared_ptr<StreamState> state, Bytes frame, std::size_t credit) {
    const auto self = shared_from_this();
    while (!state->cancelled && !state->broken && !finished_) {
        if (credit > 0 && state->credit <= 0)
            co_await state->wake.wait();
        else if (!has_room())
            co_await room_.wait();
        else
            break;
        if (co_await is_cancelled()) co_return error(errc::cancelled);
    }
    co_return push(state, std::move(frame), credit);
}

Result<void> Link::push(const std::shared_ptr<StreamState>& state, Bytes frame, std::size_t credit) {
    EXA_CHECK(role_ == Role::acceptor);
    if (state->cancelled) return error(errc::cancelled, "by " + to_string(peer_));
    if (state->broken || finished_) return broken_error(*this);
    EXA_CHECK(!state->ended);
    state->credit -= static_cast<std::int64_t>(credit);
    queue_bulk({std::move(frame), {}, nullptr}, state);
    return success();
}

Result<void> Link::push_shared(const std::shared_ptr<StreamState>& state, ByteView bytes,
                               std::shared_ptr<const void> owner) {
    EXA_CHECK(role_ == Role::acceptor);
    if (state->cancelled) return error(errc::cancelled, "by " + to_string(peer_));
    if (state->broken || finished_) return broken_error(*this);
    EXA_CHECK(!state->ended);
    state->credit -= static_cast<std::int64_t>(wire::bare_data_payload_size(bytes.size()));
    queue_bulk({wire::encode_bare_data(state->id, bytes.size()), bytes, std::move(owner)}, state);
    return success();
}

bool Link::has_room(const std::shared_ptr<StreamState>& state, bool for_data) {
    if (for_data && state->credit <= 0) return false;
    if (has_room()) return true;
    crowded_.push_back(state);
    return false;
}

void Link::write_end(const std::shared_ptr<StreamState>& state, const wire::End& end) {
    state->ended = true;
    state->on_cancel = nullptr;
    Bytes frame = wire::encode_end(state->id, end);
    if (state->queued_frames > 0)
        queue_bulk({std::move(frame), {}, nullptr}, state);
    else
        queue_control(std::move(frame));
    forget(state);
}

void Link::cancel(const std::shared_ptr<StreamState>& state) {
    state->sink = nullptr;
    state->inbox.clear();
    if (state->cancelled || state->ended || state->broken) {
        state->cancelled = true;
        return;
    }
    state->cancelled = true;
    ++context_->stats.streams_cancelled;
    forget(state);
    state->notify();
    // A request that has not left the queue never will: take_batch() skips it.
    if (state->open_sent) queue_control(wire::encode_cancel(state->id));
}

void Link::release(const std::shared_ptr<StreamState>& state) {
    state->on_cancel = nullptr;
    state->on_ready = nullptr;
    if (role_ == Role::dialler)
        cancel(state);
    else if (!state->ended && !state->cancelled && !state->broken)
        write_end(state, {wire::EndCode::failed, "the request was dropped", std::nullopt});
}

// LinkStream.

LinkStream::LinkStream(std::shared_ptr<Link> link, std::shared_ptr<StreamState> state)
    : link_(std::move(link)), state_(std::move(state)) {}

LinkStream::~LinkStream() {
    link_->release(state_);
}

PeerId LinkStream::peer() const {
    return link_->peer();
}

Awaitable<Result<StreamFrame>> LinkStream::read(std::optional<Duration> timeout) {
    return link_->read(state_, timeout);
}

std::optional<Result<StreamFrame>> LinkStream::poll() {
    return link_->poll(*state_);
}

void LinkStream::on_ready(std::function<void()> handler) {
    state_->on_ready = std::move(handler);
}

void LinkStream::give_way() {
    link_->give_way();
}

void LinkStream::read_into(std::shared_ptr<DataSink> sink) {
    state_->sink = std::move(sink);
}

void LinkStream::cancel() {
    link_->cancel(state_);
}

Awaitable<Result<void>> LinkStream::write_head(wire::Head head) {
    return link_->write(state_, wire::encode_head(state_->id, head), 0);
}

Awaitable<Result<void>> LinkStream::write_data(wire::Data data) {
    const auto link = link_;
    const auto state = state_;
    const std::size_t size = wire::data_payload_size(data);
    if (is_one_frame(data)) {
        if (!fits_frame(data)) co_return error(errc::too_large, "data of " + std::to_string(size) + " bytes");
        co_return co_await link->write(state, wire::encode_data(state->id, data), size);
    }
    for (std::size_t at = 0; at < data.bytes.size(); at += piece_bytes) {
        const wire::Data piece{data.offset, {}, data.bytes.substr(at, piece_bytes), data.choice};
        auto written = co_await link->write(state, wire::encode_data(state->id, piece), wire::data_payload_size(piece));
        if (!written) co_return written;
    }
    co_return success();
}

Awaitable<Result<void>> LinkStream::write_end(wire::End end) {
    co_return push_end(end);
}

Result<void> LinkStream::push_head(const wire::Head& head) {
    return link_->push(state_, wire::encode_head(state_->id, head), 0);
}

Result<void> LinkStream::push_data(wire::Data data) {
    const std::size_t size = wire::data_payload_size(data);
    if (is_one_frame(data)) {
        if (!fits_frame(data)) return error(errc::too_large, "data of " + std::to_string(size) + " bytes");
        return link_->push(state_, wire::encode_data(state_->id, data), size);
    }
    for (std::size_t at = 0; at < data.bytes.size(); at += piece_bytes) {
        const wire::Data piece{data.offset, {}, data.bytes.substr(at, piece_bytes), data.choice};
        EXA_TRY(link_->push(state_, wire::encode_data(state_->id, piece), wire::data_payload_size(piece)));
    }
    return success();
}

Result<void> LinkStream::push_shared(ByteView bytes, std::shared_ptr<const void> owner) {
    const std::size_t size = wire::bare_data_payload_size(bytes.size());
    if (size > wire::frame_payload_max(wire::FrameType::data))
        return error(errc::too_large, "data of " + std::to_string(size) + " bytes");
    return link_->push_shared(state_, bytes, std::move(owner));
}

Result<void> LinkStream::push_end(const wire::End& end) {
    if (state_->cancelled) return error(errc::cancelled, "by " + to_string(link_->peer()));
    if (state_->broken) return broken_error(*link_);
    EXA_CHECK(!state_->ended);
    link_->write_end(state_, end);
    return success();
}

bool LinkStream::has_room(bool for_data) const {
    return link_->has_room(state_, for_data);
}

bool LinkStream::cancelled() const {
    return state_->cancelled || state_->broken;
}

void LinkStream::on_cancel(std::function<void()> handler) {
    if (state_->ended) return;
    if (cancelled() && handler)
        asio::post(link_->executor(), std::move(handler));
    else
        state_->on_cancel = std::move(handler);
}

}  // namespace exa::io
