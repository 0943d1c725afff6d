// LogitEdits: what a request changes of the model's logits before a token is sampled: biases, then penalties on the
// tokens that its prompt and its answer have already, then bans.
//
// A function of the settings and of these tokens: an answer that resumes elsewhere goes on with the same.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "engine/replica.h"

namespace exa::engine {

// errc::invalid_request for a penalty or a bias out of its range, or a biased token that is not below `vocab` or out of
// order.
Result<void> check_edits(const Sampling& sampling, std::uint32_t vocab);

class LogitEdits {
  public:
    // `answer` is what there is of it already.
    explicit LogitEdits(const Sampling& sampling, std::span<const TokenId> prompt = {},
                        std::span<const TokenId> answer = {});

    // The answer's next token.
    void add(TokenId token);

    // The edited logits: `logits` itself, or in `scratch`. None of `banned` is possible after it. A token that is no
    // index is left out.
    std::span<const float> apply(std::span<const float> logits, std::span<const TokenId> banned,
                                 std::vector<float>& scratch) const;

  private:
    double presence_penalty_;
    double frequency_penalty_;
    double repetition_penalty_;
    std::vector<LogitBias> biases_;
    // How often the answer has a token: 0 for one of the prompt alone, which only the penalty on repetition knows. Kept
    // only when there are penalties.
    std::map<TokenId, std::uint32_t> counts_;
};

}  // namespace exa::engine
