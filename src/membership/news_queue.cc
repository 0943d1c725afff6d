#include "membership/news_queue.h"

#include <algorithm>

namespace exa::membership {

void NewsQueue::put(NewsKey key, std::uint64_t base) {
    if (const auto at = news_.find(key); at != news_.end()) {
        base = std::min(base, at->second.base);
        erase(key);
    }
    const News news{base, 0, next_age_--};
    news_.emplace(key, news);
    order_.insert(order_of(key, news));
}

void NewsQueue::drop(PeerId peer) {
    for (auto at = news_.lower_bound({peer, 0}); at != news_.end() && at->first.peer == peer;) {
        order_.erase(order_of(at->first, at->second));
        at = news_.erase(at);
    }
}

void NewsQueue::clear() {
    news_.clear();
    order_.clear();
}

void NewsQueue::erase(NewsKey key) {
    const auto at = news_.find(key);
    order_.erase(order_of(key, at->second));
    news_.erase(at);
}

void NewsQueue::count(NewsKey key, std::uint32_t budget) {
    News& news = news_.at(key);
    order_.erase(order_of(key, news));
    if (++news.told >= budget)
        news_.erase(key);
    else
        order_.insert(order_of(key, news));
}

}  // namespace exa::membership
