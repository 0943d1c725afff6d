// BlockTable: the pages of one sequence, in order; page p holds positions 16 p .. 16 p + 15.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/page_pool.h"

namespace exa::engine {

// Owns one reference on each of its pages. The pool must outlive it.
class BlockTable {
  public:
    explicit BlockTable(PagePool& pool, PageSerial root = root_serial) : pool_(&pool), root_(root), tip_(root) {}
    BlockTable(BlockTable&& other) noexcept;
    BlockTable& operator=(BlockTable&& other) noexcept;
    ~BlockTable() { clear(); }

    std::span<const PageId> pages() const { return pages_; }

    // Shares the longest run of published pages that `tokens` begins with, and returns how many tokens that covers: a
    // multiple of 16 below tokens.size(), since the last token must be computed for its logits. The table must be
    // empty.
    std::uint32_t adopt_prefix(std::span<const TokenId> tokens);

    // Makes room for positions below `tokens`. False when the pool has too few pages; then nothing changed.
    bool reserve(std::uint32_t tokens);

    // Publishes the full pages of `computed`, the tokens whose keys and values are all in place, from position 0 on.
    void publish(std::span<const TokenId> computed);

    // Gives all pages back, the last first: the unused tail of a prefix is evicted before its head.
    void clear();

  private:
    PagePool* pool_;
    PageSerial root_;
    std::vector<PageId> pages_;
    std::uint32_t published_ = 0;  // leading pages whose serial is known
    PageSerial tip_;               // serial of the last of them
};

}  // namespace exa::engine
