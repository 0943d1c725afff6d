// Keys and segments for the tests of kv.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>

#include "base/hash.h"
#include "kv/holdings.h"
#include "kv/messages.h"
#include "kv/placement.h"
#include "kv/segment.h"

namespace exa::kv::samples {

inline SegmentKey key(std::uint64_t number) {
    SegmentKey key;
    for (std::uint64_t word = 0; word < 4; ++word) {
        const std::uint64_t value = hash64(number, word);
        std::memcpy(key.bytes.data() + word * 8, &value, 8);
    }
    return key;
}

// Not sealed: a body of `size` bytes that only its number makes.
inline SealedSegment body(std::uint64_t number, std::size_t size = segment_header_size + 8) {
    auto buffer = std::make_shared<SegmentBuffer>(size);
    for (std::size_t i = 0; i < size; ++i)
        buffer->bytes()[i] = static_cast<std::uint8_t>(hash64(number, static_cast<std::uint64_t>(i)));
    return buffer;
}

inline Item item(std::uint64_t number, std::uint32_t bytes = segment_header_size + 8) {
    return {key(number), 0, bytes};
}

class MapHoldings final : public Holdings {
  public:
    void put(const Item& item) { items[item.key] = item; }
    std::optional<Item> find(const SegmentKey& key) const override {
        const auto at = items.find(key);
        return at != items.end() ? std::optional(at->second) : std::nullopt;
    }
    std::vector<Item> list(const std::optional<SegmentKey>& after, std::size_t limit) const override {
        std::vector<Item> page;
        for (auto at = after ? items.upper_bound(*after) : items.begin(); at != items.end() && page.size() < limit;
             ++at)
            page.push_back(at->second);
        return page;
    }

    std::map<SegmentKey, Item> items;
};

// Peers 1 .. `peers`, each on a rack of its own, of which those in `gone` are out of reach.
inline std::shared_ptr<const Placement> placement_of(std::uint64_t peers, std::vector<std::uint64_t> gone = {},
                                                     std::size_t copies = 2) {
    std::vector<Holder> holders;
    for (std::uint64_t id = 1; id <= peers; ++id)
        holders.push_back({PeerId{id}, id, 1, std::ranges::find(gone, id) == gone.end()});
    return std::make_shared<const Placement>(std::move(holders), copies);
}

}  // namespace exa::kv::samples
