// Holdings: what this peer has on disk, as the cores of the protocol see it. Answers come from memory, at once;
// io/store keeps such an index, and the simulator a model of one.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "kv/messages.h"

namespace exa::kv {

class Holdings {
  public:
    virtual ~Holdings() = default;

    // Including tombstones of the Redis port. Nothing when it is not here.
    virtual std::optional<Item> find(const SegmentKey& key) const = 0;
    // Up to `limit` items in the order of keys: those after `after`, or from the first on.
    virtual std::vector<Item> list(const std::optional<SegmentKey>& after, std::size_t limit) const = 0;
};

}  // namespace exa::kv
