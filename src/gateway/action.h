// Action: what a request at its ingress wants done next, as a value. Whoever drives the request (production's data
// plane, the simulator) carries actions out in order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "openai/error.h"
#include "wire/link_messages.h"

namespace exa::gateway {

// Numbers the attempts of one request from 1. Events carry the number of the attempt that they are about, so that a
// late one can be told apart.
using AttemptNumber = std::uint32_t;

// Open a stream to attempt().peer with open(). Answered by handle_opened or handle_open_failed.
struct OpenStream {
    AttemptNumber attempt = 0;
};

// Hand open() to the receiver of this very peer, which always has a reply: the attempt counts as opened.
struct OpenLocal {
    AttemptNumber attempt = 0;
};

// Drop the attempt's stream or its opening; the work behind it is to stop.
struct Cancel {
    AttemptNumber attempt = 0;
};

// The head of the answer, once.
struct SendHead {
    std::uint16_t status = 200;
    std::string content_type;
    ReplicaId replica;
    std::string session_token;               // empty: the client brought a session
    std::vector<wire::HeaderField> headers;  // of an attached server
    std::optional<std::uint64_t> content_length;
    bool is_event_stream = false;
};

// Bytes of the body, after the head.
struct SendBody {
    std::string bytes;
};

// The body is complete.
struct SendEnd {};

// A whole answer in place of the head: nothing was sent before, and Done follows.
struct SendError {
    openai::ApiError error;
};

// The last action. A head without a SendEnd before this is a cut answer: the connection must break.
struct Done {
    std::uint64_t answer_tokens = 0;  // that the client has, over all choices
    bool failed = false;              // it ended in a 5xx or broke in the middle
};

using Action = std::variant<OpenStream, OpenLocal, Cancel, SendHead, SendBody, SendEnd, SendError, Done>;

// Appended to by every event; owned, and emptied, by the caller.
using Actions = std::vector<Action>;

}  // namespace exa::gateway
