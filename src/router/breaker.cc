#include "router/breaker.h"

#include <algorithm>

namespace exa::router {

bool Breaker::start() {
    if (!is_open()) return false;
    probing_ = true;
    return true;
}

void Breaker::succeed() {
    *this = Breaker();
}

void Breaker::fail(TimePoint now, const Config& config) {
    ++failures_;
    if (is_open()) {
        // Stragglers sent before it opened say nothing new.
        if (!probing_) return;
        open_for_ = std::min(open_for_ * 2, config.breaker_open_max);
    } else {
        if (failures_ < config.breaker_failures) return;
        open_for_ = config.breaker_open;
    }
    probing_ = false;
    until_ = now + open_for_;
}

void Breaker::release(bool probe) {
    if (probe) probing_ = false;
}

}  // namespace exa::router
