#include "loadgen/ramp.h"

#include <algorithm>

namespace exa::loadgen {

Ramp::Next Ramp::judge(const StepResult& result) {
    const std::uint64_t counted = result.finished + result.overdue;
    if (counted == 0) return Next::longer;
    Step step;
    step.rate = rate_;
    step.result = result;
    step.attained = static_cast<double>(result.met) / static_cast<double>(counted);
    step.holds = step.attained >= config_.share;
    steps_.push_back(step);
    if (step.holds)
        good_ = std::max(good_.value_or(0), rate_);
    else
        bad_ = std::min(bad_.value_or(rate_), rate_);
    if (!bad_) {
        if (rate_ >= config_.rate_max) return Next::end;
        rate_ = std::min(rate_ * config_.factor, config_.rate_max);
        return Next::step;
    }
    if (refined_ == config_.refinements) return Next::end;
    ++refined_;
    rate_ = (good_.value_or(0) + *bad_) / 2;
    return step.holds ? Next::step : Next::drain;
}

}  // namespace exa::loadgen
