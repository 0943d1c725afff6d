#include "io/link/outbound_streams.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "io/errc.h"
#include "wire/errc.h"

namespace exa::io::link {

using wire::FrameType;

namespace {

// What the acceptor may send to a sink beyond the credit that every stream has, and how much of it is granted at a
// time. A sink takes what comes at once, so this bounds no memory here: it is what may wait in the network's buffers,
// enough that neither end ever waits for the other to wake up.
constexpr std::uint32_t sink_credit = 4 * 1024 * 1024;
constexpr std::uint32_t sink_grant = 1024 * 1024;

// Credit is granted in halves of what a stream starts with.
constexpr std::uint32_t read_grant = wire::stream_credit_initial / 2;

}  // namespace

Result<std::shared_ptr<OutboundState>> OutboundStreams::open(const wire::Open& open) {
    if (streams_.size() >= common_.config.streams_max || last_id_ == std::numeric_limits<std::uint32_t>::max())
        return error(errc::too_many, "streams to " + to_string(common_.peer));
    auto frame = wire::encode_open(last_id_ + 1, open);
    if (!frame) return error(errc::too_large, frame.error().detail);
    auto stream = std::make_shared<OutboundState>(++last_id_);
    streams_.emplace(stream->id, stream);
    ++common_.stats.streams_now;
    ++common_.stats.streams_opened;
    common_.lanes.push_bulk({std::move(frame).value()}, stream);
    return stream;
}

std::optional<Result<StreamFrame>> OutboundStreams::poll(OutboundState& stream) {
    using Polled = Result<StreamFrame>;
    if (stream.inbox.empty()) {
        if (stream.cancelled) return Polled(error(errc::cancelled));
        if (stream.ended) return Polled(error(errc::closed, "the stream has ended"));
        if (stream.broken) return Polled(error(errc::broken, "link to " + to_string(common_.peer)));
        return std::nullopt;
    }
    StreamFrame frame = stream.inbox.pop();
    if (const auto* data = std::get_if<wire::Data>(&frame)) consume(stream, wire::data_payload_size(*data), read_grant);
    return Polled(std::move(frame));
}

void OutboundStreams::cancel(const std::shared_ptr<OutboundState>& stream) {
    stream->sink = nullptr;
    stream->inbox.clear();
    const bool was_over = stream->is_over();
    stream->cancelled = true;
    if (was_over) return;
    ++common_.stats.streams_cancelled;
    erase(*stream);
    common_.events.push(StreamReady{stream});
    // A request that has not left the queue never will: Lanes::take_batch() drops it.
    if (stream->began) common_.lanes.push_control(wire::encode_cancel(stream->id));
}

void OutboundStreams::break_all() {
    // By id: the order of the table is nobody's business.
    std::vector<std::shared_ptr<OutboundState>> all;
    for (auto& [id, stream] : streams_) all.push_back(std::move(stream));
    std::ranges::sort(all, {}, [](const auto& stream) { return stream->id; });
    common_.stats.streams_now -= streams_.size();
    streams_.clear();
    for (auto& stream : all) {
        stream->broken = true;
        common_.events.push(StreamReady{std::move(stream)});
    }
}

Result<void> OutboundStreams::handle(const wire::FrameView& frame) {
    const FrameType type = frame.header.type;
    const std::uint32_t id = frame.header.stream;
    if (type != FrameType::head && type != FrameType::data && type != FrameType::end)
        return error(wire::errc::malformed, std::string(to_string(type)) + " from an acceptor");
    if (id > last_id_) return error(wire::errc::malformed, "stream " + std::to_string(id) + " was never opened");
    const auto at = streams_.find(id);
    if (at == streams_.end()) return success();  // cancelled here while this was on its way
    const std::shared_ptr<OutboundState> stream = at->second;
    if (type == FrameType::data) return handle_data(stream, frame);
    if (type == FrameType::head) {
        if (std::exchange(stream->answered, true)) return error(wire::errc::malformed, "a late head");
        EXA_TRY(auto head, wire::decode_head(frame.payload));
        stream->inbox.push(std::move(head));
    } else {
        EXA_TRY(auto end, wire::decode_end(frame.payload));
        stream->inbox.push(std::move(end));
        stream->ended = true;
        erase(*stream);
    }
    common_.events.push(StreamReady{stream});
    return success();
}

Result<void> OutboundStreams::handle_data(const std::shared_ptr<OutboundState>& stream, const wire::FrameView& frame) {
    if (stream->sink) {
        EXA_TRY(start_sink(stream, frame.header.length, frame.payload));
        consume(*stream, frame.header.length, sink_grant);
        return success();
    }
    if (stream->credit <= 0) return error(wire::errc::malformed, "data beyond its credit");
    EXA_TRY(auto data, wire::decode_data(frame.payload, frame.header.choice));
    stream->answered = true;
    stream->credit -= frame.header.length;
    stream->inbox.push(std::move(data));
    common_.events.push(StreamReady{stream});
    return success();
}

bool OutboundStreams::goes_to_sink(const wire::FramePart& part) const {
    if (part.header.type != FrameType::data) return false;
    const auto at = streams_.find(part.header.stream);
    return at != streams_.end() && at->second->sink && part.payload.size() >= wire::bare_data_payload_size(0);
}

Result<void> OutboundStreams::begin_sinking(const wire::FramePart& part) {
    const std::shared_ptr<OutboundState> stream = streams_.at(part.header.stream);
    EXA_TRY(start_sink(stream, part.header.length, part.payload));
    sinking_ = Sinking{stream, part.header.length, part.missing};
    return success();
}

Result<void> OutboundStreams::start_sink(const std::shared_ptr<OutboundState>& stream, std::uint32_t length,
                                         ByteView payload) {
    if (stream->credit <= 0) return error(wire::errc::malformed, "data beyond its credit");
    EXA_TRY(ByteView bytes, wire::decode_bare_data(payload));
    // Whoever wants data as it comes wants more of it on its way than one frame.
    if (!std::exchange(stream->answered, true)) {
        stream->credit += sink_credit;
        common_.lanes.push_control(wire::encode_credit(stream->id, sink_credit));
    }
    stream->credit -= length;
    // The sink's owner may let go of it meanwhile.
    while (const std::shared_ptr<DataSink> sink = bytes.empty() ? nullptr : stream->sink) {
        const std::span<std::uint8_t> room = sink->room();
        const std::size_t count = std::min(room.size(), bytes.size());
        std::copy_n(bytes.begin(), count, room.begin());
        bytes = bytes.subspan(count);
        if (!sink->filled(count)) cancel(stream);
    }
    return success();
}

std::span<std::uint8_t> OutboundStreams::sink_room() {
    sinking_->sink = sinking_->stream->sink;
    if (!sinking_->sink) return {};
    const std::span<std::uint8_t> room = sinking_->sink->room();
    return room.first(std::min(room.size(), sinking_->missing));
}

void OutboundStreams::sunk(std::size_t count) {
    sinking_->missing -= count;
    const std::shared_ptr<OutboundState> stream = sinking_->stream;
    const std::shared_ptr<DataSink> sink = std::move(sinking_->sink);
    if (sink && stream->sink && !sink->filled(count)) cancel(stream);
    if (sinking_->missing > 0) return;
    consume(*stream, sinking_->length, sink_grant);
    sinking_.reset();
}

void OutboundStreams::consume(OutboundState& stream, std::size_t bytes, std::uint32_t grant_from) {
    stream.ungranted += static_cast<std::uint32_t>(bytes);
    if (stream.is_over() || stream.ungranted < grant_from) return;
    stream.credit += stream.ungranted;
    common_.lanes.push_control(wire::encode_credit(stream.id, std::exchange(stream.ungranted, 0)));
}

void OutboundStreams::erase(const OutboundState& stream) {
    if (streams_.erase(stream.id) > 0) --common_.stats.streams_now;
}

}  // namespace exa::io::link
