// Messages of a peer link (proto/link.capnp) and their frames.
//
// encode_*() give whole frames, ready to be written; decode_*() take a payload that may be anything: errc::truncated,
// errc::malformed or errc::oversized, never a crash, and time and memory bounded by the payload's size.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "wire/frame.h"
#include "wire/records.h"

namespace exa::wire {

struct Hello {
    ClusterId cluster;
    std::uint16_t version_major = wire_version_major;
    std::uint16_t version_minor = wire_version_minor;
    PeerId peer;
    Generation generation;
    PeerId target;     // 0: whoever listens there
    std::string name;  // of the sender
    bool operator==(const Hello&) const = default;
};

// Each is one path of the API, but for `kv`: a question about KV cache, in a body of its own form (kv/messages.h).
// `unknown` comes out of a newer peer's request and cannot be sent.
enum class RequestKind : std::uint8_t { chat, completion, embedding, response, tokenize, detokenize, kv, unknown };

// Who goes first where requests wait.
enum class Priority : std::uint8_t { high, normal, low };

// Of a request or an answer: at most 32 fields, 8 KiB in all.
inline constexpr std::size_t headers_max = 32;
inline constexpr std::size_t headers_bytes_max = 8 * 1024;
inline constexpr std::size_t header_name_bytes_max = 64;
inline constexpr std::size_t header_value_bytes_max = 1024;
inline constexpr std::size_t target_bytes_max = 1024;
// Of a wait for a permit, and of a hint when to try again.
inline constexpr Duration wait_max = std::chrono::hours{1};

// An HTTP field that is passed on: never one of the connection's own or of its framing, nor credentials or cookies.
struct HeaderField {
    std::string name;  // a token in lower case
    std::string value;
    bool operator==(const HeaderField&) const = default;
};

struct Open {
    ReplicaId replica;
    std::string model;
    std::string version;
    std::string tenant;
    RequestKind kind = RequestKind::chat;
    std::string x_request_id;
    std::string response_id;
    std::int64_t created_unix_s = 0;
    std::uint64_t seed = 0;
    std::uint64_t session_position = 0;  // on the ring
    // The stream began elsewhere: `choices` are the answers so far, which may be empty.
    bool resumed = false;
    // Token ids of each choice the client asked for: 1 to choices_max of them.
    std::vector<std::vector<std::uint32_t>> choices = std::vector<std::vector<std::uint32_t>>(1);
    std::string body;                  // the client's JSON, untouched
    std::string target;                // path and query as the client wrote them: what an attached server is asked
    std::vector<HeaderField> headers;  // of the client, for an attached server
    Priority priority = Priority::normal;
    Duration queue_wait{0};  // how long it may wait for a permit; whole milliseconds travel; 0: busy at once
    bool operator==(const Open&) const = default;
};

struct Head {
    std::uint16_t status = 200;
    std::string content_type{};
    std::optional<LoadReport> load{};
    std::vector<HeaderField> headers{};             // of an attached server, for the client
    std::optional<std::uint64_t> content_length{};  // of the body; nothing: it ends with the stream
    bool operator==(const Head&) const = default;
};

// A piece of an answer: what the client gets, and which tokens it stands for (none for other engines).
struct Data {
    std::uint32_t offset = 0;           // of the first token in the answer
    std::vector<std::uint32_t> tokens;  // at most 65,535
    std::string bytes;                  // moved on to the client as it is
    std::uint16_t choice = 0;           // which of the request's; offsets count in each from 0
    bool operator==(const Data&) const = default;
};

enum class EndCode : std::uint8_t {
    ok,
    busy,           // at its limit: try another replica
    not_found,      // no such replica here
    wrong_version,  // the replica runs another model, version or tenant pool
    draining,       // admits nothing more: try another replica
    failed,
    cancelled,
    deadline,      // it waited for a permit as long as it may
    too_long,      // the prompt exceeds the context
    not_supported  // by this replica's engine
};

const char* to_string(EndCode code);

struct End {
    EndCode code = EndCode::ok;
    std::string message{};  // for people
    std::optional<LoadReport> load{};
    // Of busy, draining and deadline: when to try this replica again. Whole milliseconds travel; 0: not said.
    Duration retry_after{0};
    bool operator==(const End&) const = default;
};

enum class GoodbyeCode : std::uint8_t {
    closing,  // nothing is wrong: idle, or the peer shuts down
    wrong_cluster,
    wrong_version,
    wrong_target,  // the peer here is not the one meant
    too_many,      // links or streams
    malformed,     // the other side broke the protocol
    timed_out
};

const char* to_string(GoodbyeCode code);

struct Goodbye {
    GoodbyeCode code = GoodbyeCode::closing;
    std::string message;
    bool operator==(const Goodbye&) const = default;
};

// Bytes of payload that `data` takes, which is what it costs in credit.
std::size_t data_payload_size(const Data& data);

// Names travel cut to 255 bytes, content types and messages for people to 1 KiB, waits to wait_max. Header fields that
// decode would refuse, and those past the bounds, are left out: whoever wrote them must not be able to fail the
// request.
Bytes encode_hello(const Hello& hello);
// errc::too_big_to_send when it does not fit one frame; errc::oversized or errc::malformed for what decode would
// refuse.
Result<Bytes> encode_open(std::uint32_t stream, const Open& open);
Bytes encode_head(std::uint32_t stream, const Head& head);
// data_payload_size must be within frame_payload_max.
Bytes encode_data(std::uint32_t stream, const Data& data);
// The begin of a data frame without tokens: so many bytes are to follow it.
Bytes encode_bare_data(std::uint32_t stream, std::size_t bytes);
constexpr std::size_t bare_data_payload_size(std::size_t bytes) {
    return 6 + bytes;
}
Bytes encode_end(std::uint32_t stream, const End& end);
Bytes encode_cancel(std::uint32_t stream);
Bytes encode_credit(std::uint32_t stream, std::uint32_t bytes);
Bytes encode_goodbye(const Goodbye& goodbye);

Result<Hello> decode_hello(ByteView payload);
Result<Open> decode_open(ByteView payload);
Result<Head> decode_head(ByteView payload);
// `choice` is the frame header's.
Result<Data> decode_data(ByteView payload, std::uint16_t choice = 0);
// The bytes of what encode_bare_data() began, as far as they are there. errc::malformed when there are tokens.
Result<ByteView> decode_bare_data(ByteView payload);
Result<End> decode_end(ByteView payload);
Result<std::uint32_t> decode_credit(ByteView payload);
Result<Goodbye> decode_goodbye(ByteView payload);

}  // namespace exa::wire
