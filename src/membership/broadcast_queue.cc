#include "membership/broadcast_queue.h"

#include <algorithm>

namespace exa::membership {

// The update of this age, or where it would stand. Searched from the end in growing steps.
std::vector<BroadcastQueue::Update>::iterator BroadcastQueue::find_update(std::vector<Update>& updates,
                                                                          std::uint64_t age) {
    std::ptrdiff_t step = 1;
    while (step < std::ssize(updates) && (updates.end() - step)->age < age) step *= 2;
    const auto from = updates.end() - std::min(step, std::ssize(updates));
    return std::partition_point(from, updates.end(), [age](const Update& other) { return other.age > age; });
}

void BroadcastQueue::put(UpdateKey key, std::uint64_t base) {
    if (const Position* known = positions_.find(key)) {
        std::vector<Update>& updates = by_sends_[known->sends];
        const auto at = find_update(updates, known->age);
        base = std::min(base, at->base);
        updates.erase(at);
    } else if (positions_.size() >= max_size_) {
        make_room();
    }
    if (by_sends_.empty()) by_sends_.emplace_back();
    by_sends_[0].push_back({key, base, next_age_});
    positions_.put(key, {0, next_age_--});
}

void BroadcastQueue::make_room() {
    for (auto updates = by_sends_.rbegin(); updates != by_sends_.rend(); ++updates) {
        if (updates->empty()) continue;
        positions_.erase(updates->front().key);
        updates->erase(updates->begin());
        return;
    }
}

void BroadcastQueue::drop(PeerId peer) {
    for (std::vector<Update>& updates : by_sends_)
        std::erase_if(updates, [&](const Update& one) { return one.key.peer == peer && positions_.erase(one.key); });
}

void BroadcastQueue::clear() {
    by_sends_ = {};
    positions_.clear();
}

void BroadcastQueue::count_sent(std::uint32_t budget) {
    for (const Sent& sent : sent_) {
        const std::uint32_t sends = sent.sends + 1;
        if (sends >= budget) {
            positions_.erase(sent.update.key);
            continue;
        }
        if (by_sends_.size() <= sends) by_sends_.resize(sends + std::size_t{1});
        by_sends_[sends].insert(find_update(by_sends_[sends], sent.update.age), sent.update);
        positions_.put(sent.update.key, {sends, sent.update.age});
    }
    sent_.clear();
    if (empty()) {
        clear();
        sent_ = {};
        skipped_ = {};
    }
}

}  // namespace exa::membership
