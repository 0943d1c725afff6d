// LookAhead: how many GETs of a pipeline are looked up at the same time.
//
// One at first, and twice as many after each batch, so that a pipeline costs few questions to other peers; half as many
// after a batch of much, so that large values are not all in memory at once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace exa::resp {

class LookAhead {
  public:
    std::size_t gets_max() const { return gets_max_; }

    // A batch of `gets` brought so many bytes.
    void record(std::size_t gets, std::uint64_t bytes) {
        if (bytes > bytes_wanted)
            gets_max_ = std::max<std::size_t>(gets_max_ / 2, 1);
        else if (gets == gets_max_)
            gets_max_ = std::min(gets_max_ * 2, most);
    }

    static constexpr std::size_t most = 512;
    static constexpr std::uint64_t bytes_wanted = 4ull << 20;

  private:
    std::size_t gets_max_ = 1;
};

}  // namespace exa::resp
