#include "engine/block_table.h"

#include <utility>

#include "base/check.h"

namespace exa::engine {

BlockTable::BlockTable(BlockTable&& other) noexcept
    : pool_(other.pool_),
      root_(other.root_),
      pages_(std::exchange(other.pages_, {})),
      published_(std::exchange(other.published_, 0)),
      tip_(std::exchange(other.tip_, other.root_)) {}

BlockTable& BlockTable::operator=(BlockTable&& other) noexcept {
    if (this == &other) return *this;
    clear();
    pool_ = other.pool_;
    root_ = other.root_;
    pages_ = std::exchange(other.pages_, {});
    published_ = std::exchange(other.published_, 0);
    tip_ = std::exchange(other.tip_, other.root_);
    return *this;
}

std::uint32_t BlockTable::adopt_prefix(std::span<const TokenId> tokens) {
    EXA_CHECK(pages_.empty());
    while ((published_ + 1) * page_tokens < tokens.size()) {
        const auto match = pool_->find(tip_, tokens.subspan(published_ * page_tokens).first<page_tokens>());
        if (!match) break;
        pages_.push_back(match->page);
        tip_ = match->serial;
        ++published_;
    }
    return published_ * page_tokens;
}

bool BlockTable::reserve(std::uint32_t tokens) {
    const std::size_t needed = (tokens + page_tokens - 1) / page_tokens;
    if (needed <= pages_.size()) return true;
    if (needed - pages_.size() > pool_->available()) return false;
    while (pages_.size() < needed) {
        const auto page = pool_->allocate();
        EXA_CHECK(page.has_value());
        pages_.push_back(*page);
    }
    return true;
}

void BlockTable::publish(std::span<const TokenId> computed) {
    for (; (published_ + 1) * page_tokens <= computed.size(); ++published_)
        tip_ =
            pool_->publish(pages_[published_], tip_, computed.subspan(published_ * page_tokens).first<page_tokens>());
}

void BlockTable::clear() {
    for (; !pages_.empty(); pages_.pop_back()) pool_->release(pages_.back());
    published_ = 0;
    tip_ = root_;
}

}  // namespace exa::engine
