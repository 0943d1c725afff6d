// Replica: what runs a model for one slot of a peer. Sans-IO: its owner calls step() and drains poll_event().
//
// Polling order: submit() and cancel() at any time between steps; then step() until it returns false; after every step
// poll_event() until it is empty. One thread owns a replica.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "kv/segment_key.h"

namespace exa::engine {

using TokenId = std::uint32_t;

// Chosen by the caller, unique among its requests in flight.
struct RequestId {
    std::uint64_t value = 0;
    auto operator<=>(const RequestId&) const = default;
};

inline constexpr std::uint32_t top_logprobs_max = 20;

struct LogitBias {
    TokenId token = 0;
    float bias = 0.0F;  // -100 .. 100
    bool operator==(const LogitBias&) const = default;
};

// Sampling is counter-based on (seed, position): the same logits, seed and position give the same token everywhere.
struct Sampling {
    float temperature = 1.0F;  // 0 is greedy; range 0 .. 2
    float top_p = 1.0F;        // nucleus (Holtzman et al. 2020), at least one token; range 0 .. 1
    std::uint64_t seed = 0;
    // Only so many of the likeliest tokens; 0: all.
    std::uint32_t top_k = 0;
    // Only tokens at least this share as likely as the likeliest (Nguyen et al. 2024); range 0 .. 1.
    float min_p = 0.0F;
    // What the logit of every token of prompt and answer is divided by if it is above 0, else multiplied (Keskar et al.
    // 2019); above 0, 1 does nothing.
    float repetition_penalty = 1.0F;
    // Taken off the logit of every token that the answer has already: once, and once for each time. -2 .. 2.
    float presence_penalty = 0.0F;
    float frequency_penalty = 0.0F;
    // Added to the logits of these tokens; ascending by token, each once.
    std::vector<LogitBias> biases = {};
};

// Whose KV it is. Nothing of one is ever found by another.
struct KvScope {
    kv::SegmentKey root;       // what the keys of its segments hang from: kv::root_key()
    std::uint64_t tenant = 0;  // whom they are counted for: kv::tenant_tag()
    bool operator==(const KvScope&) const = default;
};

struct GenerateRequest {
    std::vector<TokenId> prompt;   // not empty
    std::uint32_t max_tokens = 0;  // of the answer, at least 1; 0 when it embeds
    Sampling sampling;
    // Ends the answer when sampled; the token itself is reported with its finish reason.
    std::vector<TokenId> stop_tokens;
    // None of these is sampled before the answer has so many tokens.
    std::uint32_t min_tokens = 0;
    // How many of `prompt`'s last tokens are an answer so far: a stream that resumes elsewhere. They count against
    // max_tokens, and offsets of new tokens go on behind them.
    std::uint32_t resumed_tokens = 0;
    // Every token comes with its logprob and those of so many of the likeliest, at most top_logprobs_max; nothing:
    // with none.
    std::optional<std::uint32_t> top_logprobs = std::nullopt;
    // So do the prompt's tokens, with the answer's first. They are all computed: none is taken from a cache. Only with
    // top_logprobs; an answer that resumes has sent them.
    bool prompt_logprobs = false;
    // Instead of an answer: one event without a token, with the prompt's embedding.
    bool embeds = false;
    // Nothing: its KV stays here, and is shared with all others that have none.
    std::optional<KvScope> kv_scope = std::nullopt;
    // Names its session where its segments are told of (FinishedSegment); 0: none.
    std::uint64_t kv_session = 0;
};

struct TokenLogprob {
    TokenId token = 0;
    float logprob = 0.0F;  // natural logarithm
    bool operator==(const TokenLogprob&) const = default;
};

// How likely the model found a token: before temperature, penalties and biases.
struct TokenLogprobs {
    float logprob = 0.0F;
    std::vector<TokenLogprob> top;  // likeliest first, the lower id of equals
    bool operator==(const TokenLogprobs&) const = default;
};

// What a prompt means: the mean of its tokens' last hidden states, scaled to length 1.
using Embedding = std::vector<float>;

enum class FinishReason : std::uint8_t { stop, length, cancelled, failed };

struct TokenEvent {
    RequestId request;
    std::uint32_t offset = 0;  // of `token` in the answer, from 0, contiguous
    TokenId token = 0;
    std::uint32_t cached_tokens = 0;  // of the prompt, not computed: found in the replica's memory or brought there
    std::optional<FinishReason> finish;
    bool has_token = true;  // false for an end without a token (cancelled, failed, an embedding)
    std::shared_ptr<const TokenLogprobs> logprobs = nullptr;
    std::shared_ptr<const std::vector<TokenLogprobs>> prompt_logprobs = nullptr;  // from the prompt's second token on
    std::shared_ptr<const Embedding> embedding = nullptr;
};

// What a replica can do beyond sampling tokens.
struct Abilities {
    bool logprobs = false;
    bool logit_edits = false;           // penalties and biases
    std::uint32_t embedding_width = 0;  // 0: it makes none
    bool operator==(const Abilities&) const = default;
};

struct ReplicaLoad {
    std::uint32_t in_flight = 0;
    std::uint32_t queued_tokens = 0;  // prompt tokens not yet prefilled
    std::uint16_t kv_used_permille = 0;
    std::uint32_t step_prompt_tokens = 0;  // of prompts, computed by the last step
    std::uint64_t preemptions = 0;         // requests that gave their memory back for others, since the start
};

class KvPort;

class Replica {
  public:
    virtual ~Replica() = default;

    // The same for its whole life. Requests that need more are errc::invalid_request.
    virtual Abilities abilities() const { return {}; }

    // errc::busy at the in-flight limit, errc::prompt_too_long when prompt and answer exceed the context,
    // errc::invalid_request for a field out of its range; nothing changed in any case.
    virtual Result<void> submit(TimePoint now, RequestId id, GenerateRequest request) = 0;
    // Frees its pages before the next step; unknown ids are ignored.
    virtual void cancel(RequestId id) = 0;

    // One batch step (prefill chunks and one token of each decoding request). False when there was nothing to do.
    virtual bool step(TimePoint now) = 0;

    // When step() has something to do again after it returned false; time_never when only submit() or cancel() can
    // change that.
    virtual TimePoint next_step() const { return time_never; }

    virtual std::optional<TokenEvent> poll_event() = 0;
    virtual ReplicaLoad load() const = 0;

    // Null when its KV stays where it is. The same for its whole life, and the replica's own.
    virtual KvPort* kv_port() { return nullptr; }
};

}  // namespace exa::engine
