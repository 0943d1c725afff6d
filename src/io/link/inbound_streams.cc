#include "io/link/inbound_streams.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "io/errc.h"
#include "wire/errc.h"

namespace exa::io::link {

using wire::FrameType;

namespace {

// Data without tokens is cut to this, so that streams take turns on the link.
constexpr std::size_t piece_bytes = 64 * 1024;

// Control frames that wait for a peer that opens streams and does not read the refusals.
constexpr std::size_t refusal_bytes_max = 32 * 1024 * 1024;

}  // namespace

Result<void> InboundStreams::check_open(const InboundState& stream) const {
    if (stream.cancelled) return error(errc::cancelled, "by " + to_string(common_.peer));
    if (stream.broken) return error(errc::broken, "link to " + to_string(common_.peer));
    EXA_CHECK(!stream.ended);
    return success();
}

Result<void> InboundStreams::push_head(const std::shared_ptr<InboundState>& stream, const wire::Head& head) {
    EXA_TRY(check_open(*stream));
    common_.lanes.push_bulk({wire::encode_head(stream->id, head)}, stream);
    return success();
}

Result<void> InboundStreams::push_data(const std::shared_ptr<InboundState>& stream, const wire::Data& data) {
    EXA_TRY(check_open(*stream));
    if (!data.tokens.empty() || data.bytes.size() <= piece_bytes) return push_frame(stream, data);
    for (std::size_t at = 0; at < data.bytes.size(); at += piece_bytes) {
        EXA_TRY(push_frame(stream, {data.offset, {}, data.bytes.substr(at, piece_bytes), data.choice}));
    }
    return success();
}

Result<void> InboundStreams::push_frame(const std::shared_ptr<InboundState>& stream, const wire::Data& data) {
    const std::size_t size = wire::data_payload_size(data);
    if (size > wire::frame_payload_max(FrameType::data) ||
        data.tokens.size() > std::numeric_limits<std::uint16_t>::max())
        return error(errc::too_large, "data of " + std::to_string(size) + " bytes");
    stream->credit -= static_cast<std::int64_t>(size);
    common_.lanes.push_bulk({wire::encode_data(stream->id, data)}, stream);
    return success();
}

Result<void> InboundStreams::push_shared(const std::shared_ptr<InboundState>& stream, ByteView bytes,
                                         std::shared_ptr<const void> owner) {
    EXA_TRY(check_open(*stream));
    const std::size_t size = wire::bare_data_payload_size(bytes.size());
    if (size > wire::frame_payload_max(FrameType::data))
        return error(errc::too_large, "data of " + std::to_string(size) + " bytes");
    stream->credit -= static_cast<std::int64_t>(size);
    common_.lanes.push_bulk({wire::encode_bare_data(stream->id, bytes.size()), bytes, std::move(owner)}, stream);
    return success();
}

Result<void> InboundStreams::push_end(const std::shared_ptr<InboundState>& stream, const wire::End& end) {
    EXA_TRY(check_open(*stream));
    stream->ended = true;
    Bytes frame = wire::encode_end(stream->id, end);
    // It must not overtake what the stream still has to say.
    if (stream->queued_frames > 0)
        common_.lanes.push_bulk({std::move(frame)}, stream);
    else
        common_.lanes.push_control(std::move(frame));
    erase(*stream);
    return success();
}

bool InboundStreams::has_room(const std::shared_ptr<InboundState>& stream, bool for_data) {
    if (for_data && stream->credit <= 0) return false;
    if (common_.has_room()) return true;
    if (!std::exchange(stream->blocked, true)) blocked_.push_back(stream);
    return false;
}

void InboundStreams::wake_blocked() {
    if (blocked_.empty() || !common_.has_room()) return;
    for (const auto& waiting : std::exchange(blocked_, {})) {
        auto stream = waiting.lock();
        if (!stream) continue;
        stream->blocked = false;
        common_.events.push(StreamReady{std::move(stream)});
    }
}

void InboundStreams::break_all() {
    // By id: the order of the table is nobody's business.
    std::vector<std::shared_ptr<InboundState>> all;
    for (auto& [id, stream] : streams_) all.push_back(std::move(stream));
    std::ranges::sort(all, {}, [](const auto& stream) { return stream->id; });
    common_.stats.streams_now -= streams_.size();
    streams_.clear();
    request_bytes_ = 0;
    for (auto& stream : all) {
        stream->broken = true;
        common_.events.push(StreamReady{stream});
        common_.events.push(StreamAborted{std::move(stream)});
    }
}

Result<void> InboundStreams::handle(const wire::FrameView& frame) {
    const FrameType type = frame.header.type;
    const std::uint32_t id = frame.header.stream;
    if (type == FrameType::open) return handle_open(frame);
    if (type != FrameType::cancel && type != FrameType::credit)
        return error(wire::errc::malformed, std::string(to_string(type)) + " from a dialler");
    if (id > last_id_) return error(wire::errc::malformed, "stream " + std::to_string(id) + " was never opened");
    if (type == FrameType::cancel) {
        handle_cancel(id);
        return success();
    }
    EXA_TRY(const std::uint32_t credit, wire::decode_credit(frame.payload));
    return handle_credit(id, credit);
}

Result<void> InboundStreams::handle_open(const wire::FrameView& frame) {
    const std::uint32_t id = frame.header.stream;
    if (id <= last_id_) return error(wire::errc::malformed, "stream " + std::to_string(id) + " is not new");
    last_id_ = id;
    if (common_.lanes.control_bytes() > refusal_bytes_max) return error(wire::errc::malformed, "answers are not read");
    const std::size_t bytes = frame.payload.size();
    if (streams_.size() >= common_.config.streams_max || request_bytes_ + bytes > common_.config.open_bytes_max) {
        common_.lanes.push_control(
            wire::encode_end(id, {wire::EndCode::busy, "too many streams on this link", std::nullopt}));
        return success();
    }
    EXA_TRY(auto open, wire::decode_open(frame.payload));
    auto stream = std::make_shared<InboundState>(id);
    stream->request_bytes = bytes;
    request_bytes_ += bytes;
    streams_.emplace(id, stream);
    ++common_.stats.streams_now;
    ++common_.stats.streams_opened;
    common_.events.push(StreamOpened{std::move(stream), std::make_unique<wire::Open>(std::move(open))});
    return success();
}

void InboundStreams::handle_cancel(std::uint32_t id) {
    const auto at = streams_.find(id);
    if (at == streams_.end()) return;  // it ended while this was on its way
    const std::shared_ptr<InboundState> stream = at->second;
    stream->cancelled = true;
    ++common_.stats.streams_cancelled;
    erase(*stream);
    common_.events.push(StreamReady{stream});
    common_.events.push(StreamAborted{stream});
}

Result<void> InboundStreams::handle_credit(std::uint32_t id, std::uint32_t credit) {
    const auto at = streams_.find(id);
    if (at == streams_.end()) return success();
    at->second->credit += credit;
    if (at->second->credit > std::numeric_limits<std::int32_t>::max())
        return error(wire::errc::malformed, "more than 2 GiB of credit");
    common_.events.push(StreamReady{at->second});
    return success();
}

void InboundStreams::erase(const InboundState& stream) {
    if (streams_.erase(stream.id) == 0) return;
    request_bytes_ -= stream.request_bytes;
    --common_.stats.streams_now;
}

}  // namespace exa::io::link
