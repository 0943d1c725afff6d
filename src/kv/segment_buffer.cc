#include "kv/segment_buffer.h"

#include <algorithm>
#include <cstdint>

#include "base/check.h"

namespace exa::kv {

// Aligned here and not by the allocator: glibc's keeps no whole block that fits the next of the same size, so that each
// segment would take fresh pages from the system while those of the last lie idle.
SegmentBuffer::SegmentBuffer(std::size_t size)
    : memory_(new std::uint8_t[whole_blocks(size) + segment_block - 1]), begin_(memory_.get()), size_(size) {
    EXA_CHECK(size > 0);
    const auto past = reinterpret_cast<std::uintptr_t>(begin_) % segment_block;
    if (past != 0) begin_ += segment_block - past;
    std::fill(begin_ + size, begin_ + whole_blocks(size), std::uint8_t{0});
}

}  // namespace exa::kv
