#include "membership/timers.h"

namespace exa::membership {

void Timers::set(TimerKey key, TimePoint when) {
    cancel(key);
    deadlines_.emplace(key, when);
    order_.emplace(when, key);
}

void Timers::set_sooner(TimerKey key, TimePoint when) {
    const auto at = deadlines_.find(key);
    if (at == deadlines_.end() || when < at->second) set(key, when);
}

void Timers::cancel(TimerKey key) {
    const auto at = deadlines_.find(key);
    if (at == deadlines_.end()) return;
    order_.erase({at->second, key});
    deadlines_.erase(at);
}

void Timers::clear() {
    deadlines_.clear();
    order_.clear();
}

std::optional<TimerKey> Timers::take_due(TimePoint now) {
    if (order_.empty() || order_.begin()->first > now) return std::nullopt;
    const TimerKey key = order_.begin()->second;
    cancel(key);
    return key;
}

}  // namespace exa::membership
