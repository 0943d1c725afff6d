#include "wire/frame.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "base/check.h"
#include "base/little_endian.h"
#include "wire/errc.h"

namespace exa::wire {

namespace {

constexpr std::uint32_t kibi = 1024;
constexpr std::uint32_t mebi = 1024 * kibi;

// Before the other side has said who it is.
constexpr std::uint32_t greeting_payload_max = 4 * kibi;

// What the buffer falls back to once a large frame has passed.
constexpr std::size_t resting_capacity = 64 * kibi;

bool is_known(std::uint8_t type) {
    return type >= static_cast<std::uint8_t>(FrameType::hello) && type <= static_cast<std::uint8_t>(FrameType::goodbye);
}

bool belongs_to_stream(FrameType type) {
    switch (type) {
        case FrameType::open:
        case FrameType::head:
        case FrameType::data:
        case FrameType::end:
        case FrameType::cancel:
        case FrameType::credit:
            return true;
        case FrameType::hello:
        case FrameType::ping:
        case FrameType::pong:
        case FrameType::sync:
        case FrameType::goodbye:
            return false;
    }
    return false;
}

}  // namespace

std::uint32_t frame_payload_max(FrameType type) {
    switch (type) {
        case FrameType::hello:
        case FrameType::goodbye:
            return greeting_payload_max;
        case FrameType::open:
            return 18 * mebi;
        case FrameType::sync:
            return 16 * mebi;
        case FrameType::head:
        case FrameType::end:
            return 64 * kibi;
        case FrameType::data:
            return mebi;
        case FrameType::cancel:
            return 0;
        case FrameType::credit:
            return 4;
        case FrameType::ping:
        case FrameType::pong:
            return 8;
    }
    return 0;
}

const char* to_string(FrameType type) {
    switch (type) {
        case FrameType::hello:
            return "hello";
        case FrameType::open:
            return "open";
        case FrameType::head:
            return "head";
        case FrameType::data:
            return "data";
        case FrameType::end:
            return "end";
        case FrameType::cancel:
            return "cancel";
        case FrameType::credit:
            return "credit";
        case FrameType::ping:
            return "ping";
        case FrameType::pong:
            return "pong";
        case FrameType::sync:
            return "sync";
        case FrameType::goodbye:
            return "goodbye";
    }
    return "unknown";
}

std::array<std::uint8_t, frame_header_size> encode_frame_header(const FrameHeader& header) {
    EXA_CHECK(header.length <= frame_payload_max(header.type));
    EXA_CHECK(header.choice == 0 || (header.type == FrameType::data && header.choice < choices_max));
    std::array<std::uint8_t, frame_header_size> bytes{};
    put_le(bytes.data(), header.length);
    bytes[4] = static_cast<std::uint8_t>(header.type);
    bytes[6] = static_cast<std::uint8_t>(header.choice);
    bytes[7] = static_cast<std::uint8_t>(header.choice >> 8);
    put_le(bytes.data() + 8, header.stream);
    return bytes;
}

Result<FrameHeader> decode_frame_header(std::span<const std::uint8_t, frame_header_size> bytes) {
    if (!is_known(bytes[4])) return error(errc::unknown_kind, "frame type " + std::to_string(bytes[4]));
    FrameHeader header;
    header.type = static_cast<FrameType>(bytes[4]);
    header.length = get_le<std::uint32_t>(bytes.data());
    header.stream = get_le<std::uint32_t>(bytes.data() + 8);
    header.choice = static_cast<std::uint16_t>(bytes[6] | bytes[7] << 8);
    if (header.length > frame_payload_max(header.type))
        return error(errc::oversized, std::string(to_string(header.type)) + " frame of " +
                                          std::to_string(header.length) + " bytes, at most " +
                                          std::to_string(frame_payload_max(header.type)));
    if (bytes[5] != 0) return error(errc::malformed, std::string(to_string(header.type)) + " frame with flags");
    if (header.choice >= choices_max || (header.choice != 0 && header.type != FrameType::data))
        return error(errc::malformed,
                     std::string(to_string(header.type)) + " frame of choice " + std::to_string(header.choice));
    if (belongs_to_stream(header.type) != (header.stream != 0))
        return error(errc::malformed,
                     std::string(to_string(header.type)) + " frame on stream " + std::to_string(header.stream));
    return header;
}

Bytes encode_frame(FrameType type, std::uint32_t stream, ByteView payload) {
    const auto header = encode_frame_header({type, stream, static_cast<std::uint32_t>(payload.size())});
    Bytes frame;
    frame.reserve(header.size() + payload.size());
    frame.insert(frame.end(), header.begin(), header.end());
    frame.insert(frame.end(), payload.begin(), payload.end());
    return frame;
}

std::span<std::uint8_t> FrameReader::prepare(std::size_t min) {
    if (begin_ > 0) {
        std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
        end_ -= begin_;
        begin_ = 0;
    }
    if (buffer_.size() > resting_capacity && end_ + min <= resting_capacity) {
        buffer_.resize(resting_capacity);
        buffer_.shrink_to_fit();
    }
    // Doubling, so that a frame costs a few copies and never more memory than twice what came.
    if (buffer_.size() < end_ + min) buffer_.resize(std::max(end_ + min, 2 * end_));
    return {buffer_.data() + end_, buffer_.size() - end_};
}

void FrameReader::commit(std::size_t count) {
    EXA_CHECK(count <= buffer_.size() - end_);
    end_ += count;
}

std::optional<FramePart> FrameReader::coming() const {
    const std::size_t available = end_ - begin_;
    if (available < frame_header_size) return std::nullopt;
    const std::uint8_t* at = buffer_.data() + begin_;
    const auto header = decode_frame_header(std::span<const std::uint8_t, frame_header_size>(at, frame_header_size));
    if (!header) return std::nullopt;
    const std::size_t there = std::min<std::size_t>(available - frame_header_size, header.value().length);
    return FramePart{header.value(), {at + frame_header_size, there}, header.value().length - there};
}

FramePart FrameReader::take_coming() {
    const auto part = coming();
    EXA_CHECK(part.has_value());
    begin_ += frame_header_size + part->payload.size();
    return *part;
}

Result<std::optional<FrameView>> FrameReader::next() {
    const std::size_t available = end_ - begin_;
    if (available < frame_header_size) return std::optional<FrameView>{};
    const std::uint8_t* at = buffer_.data() + begin_;
    EXA_TRY(const FrameHeader header,
            decode_frame_header(std::span<const std::uint8_t, frame_header_size>(at, frame_header_size)));
    if (!accept_all_ && header.type != FrameType::hello && header.type != FrameType::goodbye)
        return error(errc::malformed, std::string(to_string(header.type)) + " frame before hello");
    if (available - frame_header_size < header.length) return std::optional<FrameView>{};
    begin_ += frame_header_size + header.length;
    return std::optional<FrameView>{FrameView{header, {at + frame_header_size, header.length}}};
}

}  // namespace exa::wire
