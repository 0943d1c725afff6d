#include "membership/broadcast_queue.h"

#include <algorithm>

namespace exa::membership {

// Of the news of this age, or where it would stand. Searched from the end in growing steps.
std::vector<BroadcastQueue::News>::iterator BroadcastQueue::position(std::vector<News>& news, std::uint64_t age) {
    std::ptrdiff_t step = 1;
    while (step < std::ssize(news) && (news.end() - step)->age < age) step *= 2;
    const auto from = news.end() - std::min(step, std::ssize(news));
    return std::partition_point(from, news.end(), [age](const News& other) { return other.age > age; });
}

void BroadcastQueue::put(UpdateKey key, std::uint64_t base) {
    if (const Place* place = places_.find(key)) {
        std::vector<News>& news = told_[place->told];
        const auto at = position(news, place->age);
        base = std::min(base, at->base);
        news.erase(at);
    } else if (places_.size() >= most_) {
        make_room();
    }
    if (told_.empty()) told_.emplace_back();
    told_[0].push_back({key, base, next_age_});
    places_.put(key, {0, next_age_--});
}

void BroadcastQueue::make_room() {
    for (auto news = told_.rbegin(); news != told_.rend(); ++news) {
        if (news->empty()) continue;
        places_.erase(news->front().key);
        news->erase(news->begin());
        return;
    }
}

void BroadcastQueue::drop(PeerId peer) {
    for (std::vector<News>& news : told_)
        std::erase_if(news, [&](const News& one) { return one.key.peer == peer && places_.erase(one.key); });
}

void BroadcastQueue::clear() {
    told_ = {};
    places_.clear();
}

void BroadcastQueue::settle(std::uint32_t budget) {
    for (const Sent& sent : sent_) {
        const std::uint32_t told = sent.told + 1;
        if (told >= budget) {
            places_.erase(sent.news.key);
            continue;
        }
        if (told_.size() <= told) told_.resize(told + std::size_t{1});
        told_[told].insert(position(told_[told], sent.news.age), sent.news);
        places_.put(sent.news.key, {told, sent.news.age});
    }
    sent_.clear();
    if (empty()) {
        clear();
        sent_ = {};
        skipped_ = {};
    }
}

}  // namespace exa::membership
