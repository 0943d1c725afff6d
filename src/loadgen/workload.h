// Workload: conversations, and the requests that they are made of.
//
// A conversation is a value that its owner keeps between turns: it begins with one of the shared system prompts, grows
// by what the user says and what the model under test answered, and keeps its session id as a client of ours would.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/rng.h"
#include "base/time.h"
#include "loadgen/config.h"
#include "loadgen/prompts.h"

namespace exa::loadgen {

// Lengths that a trace prescribes for one request.
struct Lengths {
    std::uint32_t prompt_tokens = 0;
    std::uint32_t output_tokens = 0;
};

struct Conversation {
    std::string history;  // chat: messages as JSON, each followed by a comma; completions: JSON text, unquoted
    std::string session;  // value of x-session-id; empty: none yet
    const Prompt* prompt = nullptr;  // null: made up
    std::uint32_t turn = 0;          // how many were asked
    std::uint32_t turns = 1;
    std::uint32_t target = 0;
    std::string asked;  // of the turn under way, as JSON

    bool is_over() const { return turn >= turns; }
};

struct Request {
    std::uint32_t target = 0;
    std::string body;
    std::string session;
    bool keeps_text = false;  // the next turn needs the answer
};

class Workload {
  public:
    // `prompts` may be empty; both they and the configuration outlive the workload. Conversations that share a seed
    // share their system prompts, whatever their `stream` of random numbers.
    Workload(const Config& config, std::span<const Prompt> prompts, std::uint32_t targets, std::uint64_t stream);

    Conversation begin();
    // The next turn of a conversation that is not over.
    Request ask(Conversation& conversation, std::optional<Lengths> lengths = std::nullopt);
    // What the model said, and the x-session-id of its answer (may be empty). Without an answer the conversation is
    // to be dropped.
    void answered(Conversation& conversation, std::string_view text, std::string_view session) const;
    // Until the next turn.
    Duration think();

  private:
    std::uint32_t next_target();
    std::string next_turn(Conversation& conversation, std::optional<Lengths> lengths);
    std::string body_of(const Conversation& conversation, std::uint32_t output_tokens) const;

    const Config& config_;
    std::span<const Prompt> prompts_;
    std::uint32_t targets_;
    Rng rng_;
    std::uint64_t salt_;
    std::uint64_t conversations_ = 0;
    std::uint32_t target_turn_ = 0;
    std::size_t prompt_turn_ = 0;
    std::vector<std::string> system_;  // as openings of a history
    std::string head_;                 // of every body
    std::string tail_;
};

}  // namespace exa::loadgen
