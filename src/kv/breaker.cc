#include "kv/breaker.h"

#include <algorithm>
#include <utility>

namespace exa::kv {

bool Breaker::allows(TimePoint now) {
    if (!open_) return true;
    if (now < next_try_) return false;
    next_try_ = now + wait_;
    is_trying_ = true;
    return true;
}

bool Breaker::succeeded() {
    failures_ = 0;
    is_trying_ = false;
    return std::exchange(open_, false);
}

bool Breaker::failed(TimePoint now) {
    if (open_) {
        // One of those that began before it opened says nothing new.
        if (!std::exchange(is_trying_, false)) return false;
        wait_ = std::min(2 * wait_, config_.wait_max);
        next_try_ = now + wait_;
        return false;
    }
    if (++failures_ < config_.failures) return false;
    open_ = true;
    wait_ = config_.wait_min;
    next_try_ = now + wait_;
    return true;
}

}  // namespace exa::kv
