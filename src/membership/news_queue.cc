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
    order_.emplace(news.told, news.age, key);
}

void NewsQueue::drop(PeerId peer) {
    for (auto at = news_.lower_bound({peer, 0}); at != news_.end() && at->first.peer == peer;) {
        order_.erase({at->second.told, at->second.age, at->first});
        at = news_.erase(at);
    }
}

void NewsQueue::clear() {
    news_.clear();
    order_.clear();
}

void NewsQueue::erase(NewsKey key) {
    const auto at = news_.find(key);
    order_.erase({at->second.told, at->second.age, key});
    news_.erase(at);
}

void NewsQueue::count(NewsKey key, std::uint32_t budget) {
    News& news = news_.at(key);
    order_.erase({news.told, news.age, key});
    if (++news.told >= budget)
        news_.erase(key);
    else
        order_.emplace(news.told, news.age, key);
}

}  // namespace exa::membership
