// Call: one request as a client of the simulator makes it, and who is told what the client is sent.
//
// Tokens of an answer are a function of the call's seed, so that any replica goes on with the same text. A piece of a
// body is the letter T and four bytes a token; other bodies are JSON.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "gateway/action.h"

namespace exa::sim {

// Names a call of the workload.
using CallId = std::uint32_t;

struct Call {
    CallId id = 0;
    std::string model;
    std::string session;  // as the client sends it; empty: none
    std::uint32_t prompt_tokens = 0;
    std::uint32_t answer_tokens = 0;
    std::uint64_t seed = 0;
    bool erroneous = false;  // its content is wrong: any replica answers 400
    bool slow = false;       // its client reads slowly
};

inline std::uint32_t token_of(std::uint64_t seed, std::uint32_t offset) {
    return static_cast<std::uint32_t>(hash64(seed, offset));
}

inline std::string body_of(std::span<const std::uint32_t> tokens) {
    std::string body(1 + 4 * tokens.size(), 'T');
    std::memcpy(body.data() + 1, tokens.data(), 4 * tokens.size());
    return body;
}
inline bool has_tokens(std::string_view body) {
    return !body.empty() && body.front() == 'T';
}
inline std::vector<std::uint32_t> tokens_of(std::string_view body) {
    std::vector<std::uint32_t> tokens((body.size() - 1) / 4);
    std::memcpy(tokens.data(), body.data() + 1, 4 * tokens.size());
    return tokens;
}

// The client's end of calls.
class CallObserver {
  public:
    virtual ~CallObserver() = default;
    virtual void on_head(CallId call, const gateway::SendHead& head) = 0;
    virtual void on_body(CallId call, std::string_view bytes) = 0;
    virtual void on_error(CallId call, const openai::ApiError& error) = 0;
    // `complete`: the body had its end, or the answer was an error.
    virtual void on_done(CallId call, const gateway::Done& done, bool complete) = 0;
};

}  // namespace exa::sim
