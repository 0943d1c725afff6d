// HybridClock: stamps that order writes of many peers (Kulkarni et al., "Logical Physical Clocks", 2014).
//
// A stamp is Unix milliseconds, shifted by 16 bits, with a counter in the bits below: later than every stamp that this
// clock has given or seen, and near the wall clock otherwise. One thread at a time.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace exa::kv {

class HybridClock {
  public:
    std::uint64_t next(WallTime now);
    // A stamp of another writer. One that is more than a minute ahead of `now` does not move this clock: a peer whose
    // own is wrong shall not drag all others along.
    void observe(WallTime now, std::uint64_t stamp);

  private:
    std::uint64_t last_ = 0;
};

}  // namespace exa::kv
