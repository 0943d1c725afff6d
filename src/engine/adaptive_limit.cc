#include "engine/adaptive_limit.h"

#include <algorithm>

#include "base/check.h"

namespace exa::engine {

namespace {

// Of a window: so many tokens for each permit, and so many times what is between two of them.
constexpr std::uint32_t tokens_a_place = 4;
constexpr int times_between = 5;

}  // namespace

AdaptiveLimit::AdaptiveLimit(const LimitConfig& config) : config_(config) {
    EXA_CHECK(config.limit_max >= 1 && config.limit_min >= 1);
    config_.limit_min = std::min(config.limit_min, config.limit_max);
    limit_ = config.between_tokens == Duration::zero()
                 ? config.limit_max
                 : std::clamp(config.limit_start, config_.limit_min, config_.limit_max);
}

void AdaptiveLimit::handle_token(TimePoint now, Duration between, std::uint32_t in_flight, bool beside_prompt) {
    if (config_.between_tokens == Duration::zero()) return;
    if (tokens_ == 0) since_ = now;
    ++tokens_;
    if (!beside_prompt && between > config_.between_tokens * 4 / 5) ++late_;
    in_flight_most_ = std::max(in_flight_most_, in_flight);
    if (tokens_ >= tokens_a_place * limit_ && now - since_ >= config_.between_tokens * times_between) end_window(now);
}

void AdaptiveLimit::handle_preemption(TimePoint now) {
    if (config_.between_tokens == Duration::zero()) return;
    decrease();
    tokens_ = 0;
    late_ = 0;
    in_flight_most_ = 0;
    since_ = now;
}

void AdaptiveLimit::end_window(TimePoint now) {
    if (late_ * 20 > tokens_)
        decrease();
    else if (in_flight_most_ >= limit_)
        limit_ = std::min(was_late_ ? limit_ + 1 : limit_ * 2, config_.limit_max);
    tokens_ = 0;
    late_ = 0;
    in_flight_most_ = 0;
    since_ = now;
}

void AdaptiveLimit::decrease() {
    was_late_ = true;
    limit_ = std::max(config_.limit_min, limit_ - std::max(limit_ / 4, 1U));
}

}  // namespace exa::engine
