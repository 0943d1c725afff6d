#include "base/breaker.h"

#include <algorithm>

namespace exa {

bool Breaker::start(TimePoint probe_until) {
    if (!is_open()) return false;
    is_probing_ = true;
    until_ = probe_until;
    return true;
}

void Breaker::fail(TimePoint now, const BreakerLimits& limits) {
    ++failures_;
    if (is_open()) {
        // Stragglers sent before it opened say nothing new.
        if (!is_probing_) return;
        open_for_ = std::min(open_for_ * 2, limits.open_max);
    } else {
        if (failures_ < limits.failures) return;
        open_for_ = limits.open;
    }
    is_probing_ = false;
    until_ = now + open_for_;
}

void Breaker::release(bool probe) {
    if (!probe || !is_probing_) return;
    is_probing_ = false;
    until_ = TimePoint{};
}

}  // namespace exa
