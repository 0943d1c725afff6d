// ValueSearch: which version of a value of the Redis port is the last one, and which peers have it.
//
// Values are mutable: a key has versions, told apart by their stamps, and the latest one counts, also when it is a
// removal. All owners of a key are asked at the same time, each once for all of its keys. This peer's own version
// counts beside their answers if the peer is an owner, or if the owners may not have that version yet. Otherwise it
// counts only if an owner confirms it: it may have been overwritten, and the version that overwrote it may have expired
// or been evicted since. An older version never stands in for one that is known to be lost: that is a miss.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/ids.h"
#include "kv/messages.h"
#include "kv/placement.h"

namespace exa::kv {

// What this peer has of a value: nothing if the stamp is 0, its removal if the size is 0.
struct KnownValue {
    Item item;
    bool is_unacked = false;  // the owners may not have this version yet
    bool operator==(const KnownValue&) const = default;
};

// From what this peer's disk and memory have of one value: the version in memory counts unless the one on disk is
// later. The owners may not have it if `is_unacked`, or if it is on disk, too: a peer that is no owner stores it only
// until they have it.
KnownValue known_value(const KnownValue& on_disk, const Item& in_memory, bool is_unacked);

struct ValueVerdict {
    std::uint64_t stamp = 0;  // of the last known version; 0: there is none
    bool is_removal = false;
    bool is_local = false;        // this peer's version is the last one
    bool is_sure = false;         // every other owner has answered
    std::vector<PeerId> holders;  // other peers that have it; empty for a removal, or when this peer's counts
    std::uint32_t bytes = 0;      // of a version at other peers, as they say
    bool operator==(const ValueVerdict&) const = default;

    // There is a value, here or at a holder.
    bool is_found() const { return !is_removal && (is_local || !holders.empty()); }
};

class ValueSearch {
  public:
    struct Asks {
        PeerId to;
        std::vector<std::uint32_t> places;  // in the list of values, at most question_items_max
    };

    // Owners for which `is_avoided` is true count as out of reach.
    template <class IsAvoided>
    ValueSearch(std::vector<KnownValue> values, PeerId self, const Placement& placement, const IsAvoided& is_avoided)
        : values_(std::move(values)), findings_(values_.size()) {
        for (std::uint32_t place = 0; place < values_.size(); ++place)
            for (const PeerId owner : placement.owners(values_[place].item.key))
                add_owner(place, owner, owner == self, placement.reachable(owner) && !is_avoided(owner));
    }

    const SegmentKey& key(std::uint32_t place) const { return values_[place].item.key; }

    // The questions to ask.
    std::optional<Asks> next_ask();
    // The answer to one, an item for each of its places; or its failure.
    void answered(const Asks& asks, std::span<const Item> items);
    void failed(const Asks& asks);
    bool is_over() const { return open_ == 0 && asks_.empty(); }

    // After is_over(), one for each value.
    std::vector<ValueVerdict> verdicts() const;

  private:
    struct Finding {
        bool owns = false;  // this peer is an owner
        bool is_sure = true;
        Item last;  // at the other owners
        std::vector<PeerId> holders;
    };

    void add_owner(std::uint32_t place, PeerId owner, bool is_self, bool reachable);
    ValueVerdict verdict(const KnownValue& known, const Finding& finding) const;

    std::vector<KnownValue> values_;
    std::vector<Finding> findings_;
    std::vector<Asks> asks_;
    std::size_t open_ = 0;
};

}  // namespace exa::kv
