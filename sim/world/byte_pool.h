// BytePool: the bytes of messages on their way, by slot. Events stay small and plain; slots are used again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/bytes.h"

namespace exa::sim {

class BytePool {
  public:
    std::uint32_t put(Bytes bytes) {
        if (free_.empty()) {
            slots_.push_back(std::move(bytes));
            return static_cast<std::uint32_t>(slots_.size() - 1);
        }
        const std::uint32_t slot = free_.back();
        free_.pop_back();
        slots_[slot] = std::move(bytes);
        return slot;
    }
    const Bytes& at(std::uint32_t slot) const { return slots_[slot]; }
    Bytes take(std::uint32_t slot) {
        free_.push_back(slot);
        return std::exchange(slots_[slot], {});
    }
    std::size_t in_use() const { return slots_.size() - free_.size(); }

  private:
    std::vector<Bytes> slots_;
    std::vector<std::uint32_t> free_;
};

}  // namespace exa::sim
