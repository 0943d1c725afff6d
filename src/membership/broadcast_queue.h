// BroadcastQueue: what is still to be told, the least often told first and among those the newest.
//
// It keeps only names of news; what they say is looked up when a packet leaves, so that it is never stale. One entry a
// key bounds it, and `most`: what is told most often, and of that the oldest, makes room. Newest first keeps a flood of
// old news from delaying the news of now (SWIM section 4.1).
//
// News of equal count stands in one array, the newest last: what is taken, and what is put, is nearly always near its
// end. Memory is kept while there is news and given back when there is none.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/flat_map.h"
#include "base/ids.h"

namespace exa::membership {

struct UpdateKey {
    PeerId peer;
    std::uint16_t part = 0;  // of its loads; 0 otherwise
    auto operator<=>(const UpdateKey&) const = default;
};

class BroadcastQueue {
  public:
    enum class Take : std::uint8_t {
        sent,  // it is in the packet
        skip,  // it does not fit now
        gone   // there is nothing to tell any more
    };

    // Holds `most` pieces of news.
    explicit BroadcastQueue(std::size_t most = ~std::size_t{0}) : most_(most) {}

    // Tells `key` anew. `base` is the version that everyone may be taken to hold; of two bases the lower stays.
    void put(UpdateKey key, std::uint64_t base = 0);
    void drop(PeerId peer);
    void clear();

    bool empty() const { return places_.empty(); }
    std::size_t size() const { return places_.size(); }

    // Offers news in order until `offer(key, base)` has skipped `skips_max` of them. What was sent `budget` times is
    // removed.
    template <class Offer>
    void take(std::uint32_t budget, std::size_t skips_max, Offer offer) {
        std::size_t skips = 0;
        for (std::uint32_t told = 0; told < told_.size() && skips < skips_max; ++told) {
            std::vector<News>& news = told_[told];
            std::size_t at = news.size();
            while (at > 0 && skips < skips_max) {
                const News& offered = news[--at];
                switch (offer(offered.key, offered.base)) {
                    case Take::sent:
                        sent_.push_back({told, offered});
                        break;
                    case Take::gone:
                        places_.erase(offered.key);
                        break;
                    case Take::skip:
                        skipped_.push_back(offered);
                        ++skips;
                        break;
                }
            }
            news.resize(at);
            news.insert(news.end(), skipped_.rbegin(), skipped_.rend());
            skipped_.clear();
        }
        settle(budget);
    }

  private:
    struct News {
        UpdateKey key;
        std::uint64_t base = 0;
        std::uint64_t age = 0;  // counts down: the newest has the lowest
    };
    struct Place {
        std::uint32_t told = 0;
        std::uint64_t age = 0;
    };
    struct Sent {
        std::uint32_t told = 0;  // before
        News news;
    };
    struct KeyHash {
        std::uint64_t operator()(const UpdateKey& key) const { return mix64(key.peer.value + key.part); }
    };

    static std::vector<News>::iterator position(std::vector<News>& news, std::uint64_t age);
    void make_room();
    // Counts what was sent, and lets memory go when nothing is left.
    void settle(std::uint32_t budget);

    std::size_t most_;
    std::vector<std::vector<News>> told_;  // by how often
    FlatMap<UpdateKey, Place, KeyHash> places_;
    std::uint64_t next_age_ = ~std::uint64_t{0};
    // Of the take() under way.
    std::vector<Sent> sent_;
    std::vector<News> skipped_;
};

}  // namespace exa::membership
