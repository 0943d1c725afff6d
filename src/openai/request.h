// Requests: what a body of POST /v1/chat/completions or /v1/completions asks for, checked.
//
// The target of a request parses it whole; the entry only peeks and relays the original bytes. Unknown fields are
// accepted and left alone. A known field that this server cannot honour is a 400 that names it, never ignored: a client
// must not get another answer than the one it asked for. `null` counts as absent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "openai/error.h"

namespace exa::openai {

struct Limits {
    std::size_t body_bytes_max = 16 * 1024 * 1024;
    std::size_t messages_max = 4096;
    std::size_t stop_bytes_max = 1024;  // of one stop string; bounds what a stream holds back
};

enum class Role : std::uint8_t { system, developer, user, assistant, tool };

std::string_view to_string(Role role);

struct Message {
    Role role = Role::user;
    std::string content;  // UTF-8; text parts are joined by a newline
    bool operator==(const Message&) const = default;
};

// What both kinds of request share.
struct Options {
    std::string model;
    bool stream = false;
    bool include_usage = false;               // stream_options.include_usage
    std::optional<std::uint32_t> max_tokens;  // at least 1; absent: as much as the context holds
    double temperature = 1.0;                 // 0 .. 2, 0 is greedy
    double top_p = 1.0;                       // (0, 1]
    std::optional<std::uint64_t> seed;        // a negative one wraps, which keeps different seeds different
    std::vector<std::string> stop;            // at most 4, none empty
    std::optional<std::string> user;
    std::optional<std::string> prompt_cache_key;
};

struct ChatRequest {
    Options options;
    std::vector<Message> messages;  // not empty
};

// max_tokens is always set: the API's default here is 16.
struct CompletionRequest {
    Options options;
    std::variant<std::string, std::vector<std::uint32_t>> prompt;  // text, or token ids (not empty)
};

ApiResult<ChatRequest> parse_chat(std::string_view body, const Limits& limits = {});
ApiResult<CompletionRequest> parse_completion(std::string_view body, const Limits& limits = {});

// What the entry needs to route, of either kind of request.
struct Peek {
    std::string model;
    bool stream = false;
    std::optional<std::uint64_t> seed;
    std::optional<std::uint32_t> max_tokens;
    std::optional<std::string> user;
    std::optional<std::string> prompt_cache_key;
    // The prompt's first bytes with the roles between them, for a hash that is equal when prompts start alike; cut to
    // leading_bytes_max, possibly inside a code point.
    std::string leading;
    // Bytes of text over 4, and a few for every message: for ranking, never for a refusal.
    std::uint32_t prompt_tokens_estimate = 0;
};

// About the text of one segment (64 tokens): prompts that share less have no segment to share.
inline constexpr std::size_t leading_bytes_default = 256;

// Fails on malformed JSON and on fields above of a wrong type; everything else is left to the target.
ApiResult<Peek> peek(std::string_view body, const Limits& limits = {},
                     std::size_t leading_bytes_max = leading_bytes_default);

}  // namespace exa::openai
