// ValueSearch: which version of a value of the Redis port is the last one, and who has it.
//
// Values are mutable: under one key there are versions, told apart by their stamps, and the latest one counts, also
// when it is a removal. The owners of a key are asked all at the same time, each once for all of its keys. What this
// peer has counts beside their answers when it is an owner itself, or when its version may not have come to the owners
// yet; otherwise only as far as an owner vouches for it: it may have been written over, and what wrote it over may have
// expired or been evicted since. Somebody's older version is never taken for one that is known to be lost: that is a
// miss.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/ids.h"
#include "kv/messages.h"
#include "kv/placement.h"

namespace exa::kv {

// What this peer has of a value: of stamp 0 nothing, of size 0 its removal.
struct KnownValue {
    Item item;
    bool is_unsettled = false;  // its owners may not have this version yet
    bool operator==(const KnownValue&) const = default;
};

// From what the disk and the memory here have of one value; the memory's version counts unless the disk's is later.
// What is on a disk of no owner is there only until the owners have it. `is_unsettled` of what is in memory.
KnownValue known_value(const SegmentKey& key, const std::optional<Item>& stored, const std::optional<Item>& in_memory,
                       bool is_unsettled);

struct ValueVerdict {
    std::uint64_t stamp = 0;  // of the last version that is known of; 0: of none
    bool is_removal = false;
    bool is_local = false;        // this peer's version is the last one
    bool is_sure = false;         // every other owner has answered
    std::vector<PeerId> holders;  // others that have it; of a removal, or when this peer's counts, nobody
    std::uint32_t bytes = 0;      // of a version that others have, as their items say
    bool operator==(const ValueVerdict&) const = default;

    // There is a value, here or with a holder.
    bool is_found() const { return !is_removal && (is_local || !holders.empty()); }
};

class ValueSearch {
  public:
    struct Asks {
        PeerId to;
        std::vector<std::uint32_t> places;  // in the list of values, question_items_max at most
    };

    // Owners for which `is_avoided` says so count as out of reach.
    template <class IsAvoided>
    ValueSearch(std::vector<KnownValue> values, PeerId self, const Placement& placement, const IsAvoided& is_avoided)
        : values_(std::move(values)), findings_(values_.size()) {
        for (std::uint32_t place = 0; place < values_.size(); ++place)
            for (const PeerId owner : placement.owners(values_[place].item.key))
                add_owner(place, owner, owner == self, placement.in_reach(owner) && !is_avoided(owner));
    }

    const SegmentKey& key(std::uint32_t place) const { return values_[place].item.key; }

    // The questions, as they are drawn from it.
    std::optional<Asks> next_ask();
    // The answer to one, an item for each of its places; or that there is none.
    void answered(const Asks& asks, std::span<const Item> items);
    void failed(const Asks& asks);
    bool is_over() const { return open_ == 0 && asks_.empty(); }

    // After that, one for each value.
    std::vector<ValueVerdict> verdicts() const;

  private:
    struct Finding {
        bool owns = false;  // this peer does
        bool is_sure = true;
        Item last;  // of the other owners
        std::vector<PeerId> holders;
    };

    void add_owner(std::uint32_t place, PeerId owner, bool is_self, bool in_reach);
    ValueVerdict verdict(const KnownValue& known, const Finding& finding) const;

    std::vector<KnownValue> values_;
    std::vector<Finding> findings_;
    std::vector<Asks> asks_;
    std::size_t open_ = 0;
};

}  // namespace exa::kv
