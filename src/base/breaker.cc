#include "base/breaker.h"

#include <algorithm>

namespace exa {

bool Breaker::start(TimePoint trial_until) {
    if (!is_open()) return false;
    is_trying_ = true;
    until_ = trial_until;
    return true;
}

void Breaker::fail(TimePoint now, const BreakerLimits& limits) {
    ++failures_;
    if (is_open()) {
        // Stragglers sent before it opened say nothing new.
        if (!is_trying_) return;
        open_for_ = std::min(open_for_ * 2, limits.open_max);
    } else {
        if (failures_ < limits.failures) return;
        open_for_ = limits.open;
    }
    is_trying_ = false;
    until_ = now + open_for_;
}

void Breaker::release(bool trial) {
    if (!trial || !is_trying_) return;
    is_trying_ = false;
    until_ = TimePoint{};
}

}  // namespace exa
