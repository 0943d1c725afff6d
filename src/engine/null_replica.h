// NullReplica: a replica without a model, for tests of everything around one. It takes the time an engine would take
// and answers with tokens that depend on (seed, position) alone, so a stream goes on at another null replica unchanged.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "engine/replica.h"

namespace exa::engine {

struct NullConfig {
    std::uint32_t in_flight_limit = 8;    // submit() answers busy above
    std::uint32_t context_tokens = 4096;  // longest prompt plus answer
    std::uint32_t vocab_size = 256;       // tokens are below it and none of the request's stop tokens
    // Of one prompt token; requests are prefilled beside one another. Default 0.
    Duration prefill_per_token{0};
    // From one token of a request to its next. Default 0: every step gives each request a token.
    Duration decode_per_token{0};
    // Each token comes up to this many thousandths of decode_per_token earlier or later, by (seed, position). 0 ..
    // 1000.
    std::uint32_t jitter_permille = 0;
    // Tokens of an answer that max_tokens does not cut, its stop token included. 0: as many as max_tokens says.
    std::uint32_t answer_tokens = 0;
};

class NullReplica final : public Replica {
  public:
    explicit NullReplica(const NullConfig& config) : config_(config) {}

    Result<void> submit(TimePoint now, RequestId id, GenerateRequest request) override;
    void cancel(RequestId id) override;
    bool step(TimePoint now) override;
    TimePoint next_step() const override;
    std::optional<TokenEvent> poll_event() override;
    ReplicaLoad load() const override;

  private:
    struct Running {
        GenerateRequest request;
        std::uint32_t answered = 0;  // tokens of the answer, resumed ones included
        TimePoint due;               // of the next token
        bool prefilled = false;
    };

    TokenId token_at(const Running& running) const;
    Duration pause_behind(const Running& running) const;

    const NullConfig config_;
    std::map<RequestId, Running> running_;
    std::deque<TokenEvent> events_;
};

}  // namespace exa::engine
