#include "model/weight_arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>

namespace exa::model {

namespace {

constexpr std::align_val_t huge_page{std::size_t{2} << 20};
constexpr std::size_t slab_bytes = std::size_t{32} << 20;

}  // namespace

void WeightArena::Free::operator()(std::uint8_t* slab) const {
    ::operator delete(slab, huge_page);
}

std::uint8_t* WeightArena::allocate(std::size_t size) {
    size = (size + alignment - 1) / alignment * alignment;
    if (size > size_ - used_) {
        size_ = std::max(size, slab_bytes);
        slabs_.emplace_back(static_cast<std::uint8_t*>(::operator new(size_, huge_page)));
        used_ = 0;
        // Advice: where it is refused the weights are only slower.
        madvise(slabs_.back().get(), size_, MADV_HUGEPAGE);
    }
    std::uint8_t* at = slabs_.back().get() + used_;
    used_ += size;
    return at;
}

}  // namespace exa::model
