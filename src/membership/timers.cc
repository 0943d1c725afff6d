#include "membership/timers.h"

#include <algorithm>
#include <functional>

namespace exa::membership {

void Timers::set(TimerKey key, TimePoint when) {
    cancel(key);
    deadlines_.put(key, when);
    const std::pair entry(when, key);
    order_.insert(std::ranges::lower_bound(order_, entry, std::greater{}), entry);
}

void Timers::set_sooner(TimerKey key, TimePoint when) {
    const TimePoint* at = deadlines_.find(key);
    if (at == nullptr || when < *at) set(key, when);
}

void Timers::put_off(TimerKind kind, TimePoint after, TimePoint until, TimePoint to) {
    std::vector<TimerKey> keys;
    for (auto at = order_.rbegin(); at != order_.rend() && at->first <= until; ++at)
        if (at->first > after && at->second.kind == kind) keys.push_back(at->second);
    for (const TimerKey& key : keys) set(key, to);
}

void Timers::cancel(TimerKey key) {
    const TimePoint* at = deadlines_.find(key);
    if (at == nullptr) return;
    order_.erase(std::ranges::lower_bound(order_, std::pair(*at, key), std::greater{}));
    deadlines_.erase(key);
}

void Timers::clear() {
    deadlines_.clear();
    order_.clear();
}

std::optional<TimerKey> Timers::take_due(TimePoint now) {
    if (order_.empty() || order_.back().first > now) return std::nullopt;
    const TimerKey key = order_.back().second;
    order_.pop_back();
    deadlines_.erase(key);
    return key;
}

}  // namespace exa::membership
