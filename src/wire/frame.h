// Frame: the unit of a peer link. A fixed header, then a payload whose meaning the type gives.
//
//   length u32 | type u8 | flags u8 | choice u16 | stream u32 | payload [length]          (little-endian)
//
// A link is dialled by one peer; only the dialler opens streams (ids 1, 2, ... never reused), so requests flow one way
// and answers the other. Stream 0 is the link itself. Flags are 0 in this wire version. A choice other than 0 stands on
// data of a stream whose request asked for several; where nobody asks, a reader may take such a frame for damage.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/bytes.h"
#include "base/result.h"

namespace exa::wire {

enum class FrameType : std::uint8_t {
    hello = 1,    // link, both ways, first
    open = 2,     // stream, dialler
    head = 3,     // stream, acceptor
    data = 4,     // stream, acceptor, within credit
    end = 5,      // stream, acceptor, last
    cancel = 6,   // stream, dialler, last
    credit = 7,   // stream, dialler: bytes of data payload it can take beyond those granted before
    ping = 8,     // link, both ways
    pong = 9,     // link, both ways: the ping's payload
    sync = 10,    // link, both ways: bytes of membership
    goodbye = 11  // link, both ways, last
};

inline constexpr std::size_t frame_header_size = 12;

// What a stream may send before the first credit frame, in bytes of data payload. A sender with any credit left may
// send one whole frame, so a receiver holds at most this much plus one frame.
inline constexpr std::uint32_t stream_credit_initial = 256 * 1024;

// Answers that one request may ask for: OpenAI's bound on `n`.
inline constexpr std::uint16_t choices_max = 128;

// Largest payload of a type: a request carries a client's body (16 MiB and what surrounds it), a sync a whole
// membership; everything else is 1 MiB or far less.
std::uint32_t frame_payload_max(FrameType type);

// The name of a type, for logs.
const char* to_string(FrameType type);

struct FrameHeader {
    FrameType type = FrameType::ping;
    std::uint32_t stream = 0;
    std::uint32_t length = 0;  // of the payload
    std::uint16_t choice = 0;  // of data
    bool operator==(const FrameHeader&) const = default;
};

// `length` must be within frame_payload_max and `choice` below choices_max.
std::array<std::uint8_t, frame_header_size> encode_frame_header(const FrameHeader& header);

// Refuses unknown types, lengths past the type's bound, stream numbers that do not suit the type, flags, choices
// on other types than data or past choices_max.
Result<FrameHeader> decode_frame_header(std::span<const std::uint8_t, frame_header_size> bytes);

// Header and payload in one buffer, ready to be written.
Bytes encode_frame(FrameType type, std::uint32_t stream, ByteView payload);

struct FrameView {
    FrameHeader header;
    ByteView payload;
};

// The begin of a frame that is still coming.
struct FramePart {
    FrameHeader header;
    ByteView payload;         // what of it is there
    std::size_t missing = 0;  // bytes
};

// Cuts a byte stream into frames. Usage: read into prepare(), commit() what arrived, then next() until it is empty.
// Memory follows what really arrived: a header that announces much does not allocate it.
class FrameReader {
  public:
    // Only hello and goodbye, each at most 4 KiB, are taken until accept_all(): the other side has not said yet who it
    // is.
    void accept_all() { accept_all_ = true; }

    // At least `min` writable bytes; valid until the next call of any member.
    std::span<std::uint8_t> prepare(std::size_t min = 16 * 1024);
    void commit(std::size_t count);

    // The next whole frame, nothing when more bytes are needed, or why the stream cannot go on (every later call
    // answers the same). The payload is valid until the next prepare().
    Result<std::optional<FrameView>> next();
    // After next() had nothing: the header of the frame that is coming and what of its payload is there.
    std::optional<FramePart> coming() const;
    // Gives up that frame: whoever asks reads the missing bytes itself. The payload is valid until the next prepare().
    FramePart take_coming();

  private:
    Bytes buffer_;
    std::size_t begin_ = 0;  // of what is not yet consumed
    std::size_t end_ = 0;    // of what arrived
    bool accept_all_ = false;
};

}  // namespace exa::wire
