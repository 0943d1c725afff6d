// BroadcastQueue: the updates that are still to be spread. Those that were sent least often come first, and among them
// the newest: a flood of old updates does not delay a new one (SWIM section 4.1).
//
// It keeps only the keys of updates. Their content is looked up when a packet leaves, so that it is never stale. There
// is one entry for each key; above max_size the one that was sent most often, and among those the oldest, makes room.
//
// Updates that were sent equally often share one array, the newest last: nearly everything that is taken or put stands
// near its end. Memory is kept while there are updates and given back when there are none.
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
        drop   // there is nothing left to say of it
    };

    explicit BroadcastQueue(std::size_t max_size = ~std::size_t{0}) : max_size_(max_size) {}

    // Spreads `key` from the start. Everybody may be assumed to hold version `base`; of two bases the lower one stays.
    void put(UpdateKey key, std::uint64_t base = 0);
    void drop(PeerId peer);
    void clear();

    bool empty() const { return positions_.empty(); }
    std::size_t size() const { return positions_.size(); }

    // Offers updates in order until `offer(key, base)` has skipped `skips_max` of them. Removes those that were sent
    // `budget` times.
    template <class Offer>
    void take(std::uint32_t budget, std::size_t skips_max, Offer offer) {
        std::size_t skips = 0;
        for (std::uint32_t sends = 0; sends < by_sends_.size() && skips < skips_max; ++sends) {
            std::vector<Update>& updates = by_sends_[sends];
            std::size_t at = updates.size();
            while (at > 0 && skips < skips_max) {
                const Update& offered = updates[--at];
                switch (offer(offered.key, offered.base)) {
                    case Take::sent:
                        sent_.push_back({sends, offered});
                        break;
                    case Take::drop:
                        positions_.erase(offered.key);
                        break;
                    case Take::skip:
                        skipped_.push_back(offered);
                        ++skips;
                        break;
                }
            }
            updates.resize(at);
            updates.insert(updates.end(), skipped_.rbegin(), skipped_.rend());
            skipped_.clear();
        }
        count_sent(budget);
    }

  private:
    struct Update {
        UpdateKey key;
        std::uint64_t base = 0;
        std::uint64_t age = 0;  // counts down: the newest has the lowest
    };
    struct Position {
        std::uint32_t sends = 0;
        std::uint64_t age = 0;
    };
    struct Sent {
        std::uint32_t sends = 0;  // before
        Update update;
    };
    struct KeyHash {
        std::uint64_t operator()(const UpdateKey& key) const { return mix64(key.peer.value + key.part); }
    };

    static std::vector<Update>::iterator find_update(std::vector<Update>& updates, std::uint64_t age);
    void make_room();
    // Gives memory back when nothing is left.
    void count_sent(std::uint32_t budget);

    std::size_t max_size_;
    std::vector<std::vector<Update>> by_sends_;  // by how often they were sent
    FlatMap<UpdateKey, Position, KeyHash> positions_;
    std::uint64_t next_age_ = ~std::uint64_t{0};
    // While take() runs.
    std::vector<Sent> sent_;
    std::vector<Update> skipped_;
};

}  // namespace exa::membership
