// SegmentBuffer: the bytes of one sealed segment, written once and then shared by everything that forwards them.
//
// The memory is aligned to and sized in whole blocks of 4 KiB, as direct I/O requires, so that a disk and a socket
// take the same bytes; the rest after the segment is zero.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/bytes.h"

namespace exa::kv {

inline constexpr std::size_t segment_block = 4096;

constexpr std::size_t whole_blocks(std::size_t bytes) {
    return (bytes + segment_block - 1) / segment_block * segment_block;
}

class SegmentBuffer {
  public:
    // The first `size` bytes (not 0) are undefined until they are written.
    explicit SegmentBuffer(std::size_t size);
    SegmentBuffer(const SegmentBuffer&) = delete;
    SegmentBuffer& operator=(const SegmentBuffer&) = delete;

    std::size_t size() const { return size_; }
    ByteView view() const { return {begin_, size_}; }
    std::span<std::uint8_t> bytes() { return {begin_, size_}; }

    // All of the memory: size() rounded up to whole blocks.
    ByteView blocks() const { return {begin_, whole_blocks(size_)}; }
    std::span<std::uint8_t> blocks() { return {begin_, whole_blocks(size_)}; }

  private:
    std::unique_ptr<std::uint8_t[]> memory_;
    std::uint8_t* begin_;  // the first block in it
    std::size_t size_;
};

// Header and payload, verified when they were read from a disk or received from a peer. Null is a miss.
using SealedSegment = std::shared_ptr<const SegmentBuffer>;

}  // namespace exa::kv
