// NewsQueue: what is still to be told, the least often told first and among those the newest.
//
// It keeps only names of news; what they say is looked up when a packet leaves, so that it is never stale. One entry a
// key bounds it. Newest first keeps a flood of old news from delaying the news of now (SWIM section 4.1).
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "base/ids.h"

namespace exa::membership {

struct NewsKey {
    PeerId peer;
    std::uint16_t part = 0;  // of its loads; 0 otherwise
    auto operator<=>(const NewsKey&) const = default;
};

class NewsQueue {
  public:
    enum class Take : std::uint8_t {
        sent,  // it is in the packet
        skip,  // it does not fit now
        gone   // there is nothing to tell any more
    };

    // Tells `key` anew. `base` is the edition that everyone may be taken to hold; of two bases the lower stays.
    void put(NewsKey key, std::uint64_t base = 0);
    void drop(PeerId peer);
    void clear();

    bool empty() const { return news_.empty(); }
    std::size_t size() const { return news_.size(); }

    // Offers news in order until `offer(key, base)` has skipped `skips_max` of them. What was sent `budget` times is
    // removed.
    template <class Offer>
    void take(std::uint32_t budget, std::size_t skips_max, Offer offer) {
        std::vector<NewsKey> sent;
        std::vector<NewsKey> gone;
        std::size_t skips = 0;
        for (const Order& order : order_) {
            const NewsKey key = std::get<2>(order);
            const Take taken = offer(key, std::get<3>(order));
            if (taken == Take::sent) sent.push_back(key);
            if (taken == Take::gone) gone.push_back(key);
            if (taken == Take::skip && ++skips >= skips_max) break;
        }
        for (const NewsKey& key : gone) erase(key);
        for (const NewsKey& key : sent) count(key, budget);
    }

  private:
    struct News {
        std::uint64_t base = 0;
        std::uint32_t told = 0;
        std::uint64_t age = 0;  // counts down: the newest has the lowest
    };
    // By `told`, then by `age`, which no two share; with all that an offer needs.
    using Order = std::tuple<std::uint32_t, std::uint64_t, NewsKey, std::uint64_t>;

    static Order order_of(NewsKey key, const News& news) { return {news.told, news.age, key, news.base}; }

    void erase(NewsKey key);
    void count(NewsKey key, std::uint32_t budget);

    std::map<NewsKey, News> news_;
    std::set<Order> order_;
    std::uint64_t next_age_ = ~std::uint64_t{0};
};

}  // namespace exa::membership
