#include "engine/page_pool.h"

#include <algorithm>

#include "base/check.h"
#include "base/hash.h"

namespace exa::engine {

PagePool::PagePool(std::uint32_t pages) : pages_(pages) {
    free_.reserve(pages);
    for (std::uint32_t i = pages; i > 0; --i) free_.push_back(i - 1);
}

std::optional<PageId> PagePool::allocate() {
    PageId id = oldest_;
    if (!free_.empty()) {
        id = free_.back();
        free_.pop_back();
    } else if (id != none) {
        unlink(id);
        Page& page = pages_[id];
        index_.erase(key(page.parent, page.tokens));
        page.serial = root_serial;
    } else {
        return std::nullopt;
    }
    EXA_CHECK(pages_[id].references == 0);
    pages_[id].references = 1;
    return id;
}

void PagePool::release(PageId id) {
    Page& page = pages_[id];
    EXA_CHECK(page.references > 0);
    if (--page.references > 0) return;
    if (page.serial == root_serial)
        free_.push_back(id);
    else
        push_newest(id);
}

std::optional<PagePool::Match> PagePool::find(PageSerial parent, std::span<const TokenId, page_tokens> tokens) {
    const PageId* found = lookup(parent, tokens);
    if (found == nullptr) return std::nullopt;
    Page& page = pages_[*found];
    if (page.references++ == 0) unlink(*found);
    return Match{*found, page.serial};
}

PageSerial PagePool::publish(PageId id, PageSerial parent, std::span<const TokenId, page_tokens> tokens) {
    Page& page = pages_[id];
    EXA_CHECK(page.references > 0 && page.serial == root_serial);
    if (const PageId* twin = lookup(parent, tokens)) return pages_[*twin].serial;
    const PageSerial serial = ++last_serial_;
    // Another content under the same hash keeps its place; this page then has a serial that nobody can find.
    if (!index_.emplace(key(parent, tokens), id).second) return serial;
    page.serial = serial;
    page.parent = parent;
    std::ranges::copy(tokens, page.tokens.begin());
    return serial;
}

std::uint64_t PagePool::key(PageSerial parent, std::span<const TokenId, page_tokens> tokens) {
    return hash64({reinterpret_cast<const std::uint8_t*>(tokens.data()), tokens.size_bytes()}, parent);
}

const PageId* PagePool::lookup(PageSerial parent, std::span<const TokenId, page_tokens> tokens) const {
    const auto found = index_.find(key(parent, tokens));
    if (found == index_.end()) return nullptr;
    const Page& page = pages_[found->second];
    return page.parent == parent && std::ranges::equal(page.tokens, tokens) ? &found->second : nullptr;
}

void PagePool::push_newest(PageId id) {
    Page& page = pages_[id];
    page.newer = none;
    page.older = newest_;
    (newest_ == none ? oldest_ : pages_[newest_].newer) = id;
    newest_ = id;
    ++unused_;
}

void PagePool::unlink(PageId id) {
    Page& page = pages_[id];
    (page.newer == none ? newest_ : pages_[page.newer].older) = page.older;
    (page.older == none ? oldest_ : pages_[page.older].newer) = page.newer;
    page.newer = page.older = none;
    --unused_;
}

}  // namespace exa::engine
