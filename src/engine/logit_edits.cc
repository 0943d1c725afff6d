#include "engine/logit_edits.h"

#include <cmath>
#include <limits>
#include <string>

#include "engine/errc.h"

namespace exa::engine {

namespace {

constexpr float penalty_max = 2.0F;
constexpr float bias_max = 100.0F;
constexpr float repetition_penalty_max = 10.0F;

}  // namespace

Result<void> check_edits(const Sampling& sampling, std::uint32_t vocab) {
    const auto invalid = [](std::string detail) { return error(errc::invalid_request, std::move(detail)); };
    for (const float penalty : {sampling.presence_penalty, sampling.frequency_penalty})
        if (!(std::fabs(penalty) <= penalty_max)) return invalid("penalty: " + std::to_string(penalty) + ", -2 .. 2");
    if (!(sampling.repetition_penalty > 0 && sampling.repetition_penalty <= repetition_penalty_max))
        return invalid("repetition_penalty: " + std::to_string(sampling.repetition_penalty) + ", above 0, at most 10");
    const LogitBias* before = nullptr;
    for (const LogitBias& one : sampling.biases) {
        if (one.token >= vocab || (before != nullptr && one.token <= before->token))
            return invalid("biases: token " + std::to_string(one.token) + ", ascending and below " +
                           std::to_string(vocab));
        if (!(std::fabs(one.bias) <= bias_max)) return invalid("biases: " + std::to_string(one.bias) + ", -100 .. 100");
        before = &one;
    }
    return success();
}

LogitEdits::LogitEdits(const Sampling& sampling, std::span<const TokenId> prompt, std::span<const TokenId> answer)
    : presence_penalty_(static_cast<double>(sampling.presence_penalty)),
      frequency_penalty_(static_cast<double>(sampling.frequency_penalty)),
      repetition_penalty_(static_cast<double>(sampling.repetition_penalty)),
      biases_(sampling.biases) {
    if (repetition_penalty_ != 1)
        for (const TokenId token : prompt) counts_.try_emplace(token, 0);
    for (const TokenId token : answer) add(token);
}

void LogitEdits::add(TokenId token) {
    if (presence_penalty_ != 0 || frequency_penalty_ != 0 || repetition_penalty_ != 1) ++counts_[token];
}

std::span<const float> LogitEdits::apply(std::span<const float> logits, std::span<const TokenId> banned,
                                         std::vector<float>& scratch) const {
    if (biases_.empty() && counts_.empty() && banned.empty()) return logits;
    scratch.assign(logits.begin(), logits.end());
    for (const LogitBias& one : biases_)
        if (one.token < scratch.size()) scratch[one.token] += one.bias;
    for (const auto& [token, count] : counts_) {
        if (token >= scratch.size()) continue;
        // Products are exact in double, so that it is the same whether or not the machine fuses one with a sum.
        auto logit = static_cast<double>(scratch[token]);
        if (repetition_penalty_ != 1) logit = logit > 0 ? logit / repetition_penalty_ : logit * repetition_penalty_;
        if (count > 0) logit -= frequency_penalty_ * count + presence_penalty_;
        scratch[token] = static_cast<float>(logit);
    }
    for (const TokenId token : banned)
        if (token < scratch.size()) scratch[token] = -std::numeric_limits<float>::infinity();
    return scratch;
}

}  // namespace exa::engine
