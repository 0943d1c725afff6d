// WeightArena: memory for repacked weights, in few large slabs on huge pages.
//
// A decode step streams all weights once. On 4 KiB pages the address translations alone cost a good tenth of it, and a
// matrix is often smaller than a huge page, so matrices lie side by side in slabs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace exa::model {

class WeightArena {
  public:
    // A cache line, so that the kernels' widest loads do not straddle two.
    static constexpr std::size_t alignment = 64;

    // `size` bytes of undefined contents, valid as long as the arena; moving the arena does not move them.
    std::uint8_t* allocate(std::size_t size);

  private:
    struct Free {
        void operator()(std::uint8_t* slab) const;
    };

    std::vector<std::unique_ptr<std::uint8_t, Free>> slabs_;
    std::size_t used_ = 0;  // of the last slab
    std::size_t size_ = 0;  // of the last slab
};

}  // namespace exa::model
