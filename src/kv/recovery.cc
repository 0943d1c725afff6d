#include "kv/recovery.h"

#include <algorithm>

#include "kv/messages.h"

namespace exa::kv {

void Recovery::handle_lost(TimePoint now, const SegmentKey& key) {
    if (lost_.size() >= config_.keys_max || !lost_.try_emplace(key, Lost{0, now}).second) return;
    due_.emplace(now, key);
}

void Recovery::handle_stored(const SegmentKey& key) {
    const auto lost = lost_.extract(key);
    if (lost.empty()) return;
    due_.erase({lost.mapped().due, key});
    ++recovered_;
}

std::vector<Recovery::Asks> Recovery::handle_timeout(TimePoint now, const Holdings& holdings,
                                                     const Placement& placement) {
    if (now < not_before_) return {};
    std::map<PeerId, std::vector<SegmentKey>> asks;
    for (std::size_t i = 0; i < question_items_max && !due_.empty() && due_.begin()->first <= now; ++i) {
        const SegmentKey key = due_.begin()->second;
        due_.erase(due_.begin());
        Lost& lost = lost_.at(key);
        if (lost.tries == config_.tries || holdings.find(key) || !placement.owns(self_, key)) {
            lost_.erase(key);
            continue;
        }
        const auto ask = [&](PeerId peer) {
            if (peer != self_ && placement.reachable(peer)) asks[peer].push_back(key);
        };
        if (lost.tries == 0)
            std::ranges::for_each(placement.owners(key), ask);
        else
            std::ranges::for_each(placement.holders(), ask, &Holder::id);
        lost.due = now + config_.retry * (1 << lost.tries++);
        due_.emplace(lost.due, key);
    }
    not_before_ = now + config_.step;
    std::vector<Asks> all;
    all.reserve(asks.size());
    for (auto& [to, keys] : asks) all.push_back({to, std::move(keys)});
    return all;
}

TimePoint Recovery::next_timeout() const {
    return due_.empty() ? time_never : std::max(due_.begin()->first, not_before_);
}

}  // namespace exa::kv
