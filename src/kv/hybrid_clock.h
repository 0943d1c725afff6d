// HybridClock: stamps that order writes of many peers (Kulkarni et al., "Logical Physical Clocks", 2014).
//
// A stamp is Unix time in steps of 16 microseconds, shifted by 16 bits, with the writer's tag in the bits below, so
// that two peers that write at the same time do not make the same stamp. It is later than every stamp that this clock
// has issued or observed, and otherwise near the wall clock. One thread at a time.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace exa::kv {

class HybridClock {
  public:
    // Different for each writer, as far as 16 bits allow.
    explicit HybridClock(std::uint16_t tag = 0) : tag_(tag) {}

    // Also later than `after`, however far ahead that is.
    std::uint64_t next(WallTime now, std::uint64_t after = 0);
    // The least one later than `stamp`, for what changes that version and must not stand above any other: two of this
    // writer for the same `stamp` are the same.
    std::uint64_t following(std::uint64_t stamp) const;
    // A stamp of another writer. One that is more than a minute ahead of `now` does not move this clock: a peer whose
    // own clock is wrong must not drag all others along.
    void observe(WallTime now, std::uint64_t stamp);

  private:
    std::uint16_t tag_;
    std::uint64_t last_ = 0;  // without a tag
};

}  // namespace exa::kv
