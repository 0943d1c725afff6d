#include "kv/segment_buffer.h"

#include <algorithm>
#include <new>

#include "base/check.h"

namespace exa::kv {

SegmentBuffer::SegmentBuffer(std::size_t size)
    : memory_(static_cast<std::uint8_t*>(::operator new[](whole_blocks(size), std::align_val_t{segment_block}))),
      size_(size) {
    EXA_CHECK(size > 0);
    std::fill(memory_.get() + size, memory_.get() + whole_blocks(size), std::uint8_t{0});
}

void SegmentBuffer::Free::operator()(std::uint8_t* memory) const {
    ::operator delete[](memory, std::align_val_t{segment_block});
}

}  // namespace exa::kv
