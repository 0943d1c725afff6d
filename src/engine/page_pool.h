// PagePool: which page of the KV memory belongs to whom.
//
// A page holds the keys and values of 16 consecutive tokens of one sequence in every layer; the memory itself is the
// model's. A full page can be published under what determines its contents: the page before it and its 16 token ids.
// Another sequence that begins with the same tokens then shares it. Published pages that nobody uses stay until their
// memory is needed, the longest unused first.
//
// The page before is named by a serial that no other page content ever had, so a match proves that every token from
// the first on is equal; the hash only finds the candidate.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/replica.h"

namespace exa::engine {

inline constexpr std::uint32_t page_tokens = 16;

using PageId = std::uint32_t;

// Names the contents of one published page, for the pool's life. root_serial stands before the first page, or one of
// scope_serial(): pages under different ones are never shared.
using PageSerial = std::uint64_t;
inline constexpr PageSerial root_serial = 0;

// No page's. Of roots that are keyed digests, nobody can make two with the same 63 bits.
inline PageSerial scope_serial(const KvScope& scope) {
    return kv::placement(scope.root) | std::uint64_t{1} << 63;
}

class PagePool {
  public:
    explicit PagePool(std::uint32_t pages);
    PagePool(const PagePool&) = delete;
    PagePool& operator=(const PagePool&) = delete;

    std::uint32_t size() const { return static_cast<std::uint32_t>(pages_.size()); }
    // Pages with at least one reference.
    std::uint32_t used() const { return size() - available(); }
    // Pages that allocate() can hand out: free ones and published ones that nobody uses.
    std::uint32_t available() const { return static_cast<std::uint32_t>(free_.size()) + unused_; }

    // One reference on a page of undefined contents. Nothing when every page is referenced.
    std::optional<PageId> allocate();
    // Gives one reference back.
    void release(PageId page);

    // The published page that holds `tokens` after `parent`, with one more reference; nothing when there is none.
    struct Match {
        PageId page;
        PageSerial serial;
    };
    std::optional<Match> find(PageSerial parent, std::span<const TokenId, page_tokens> tokens);

    // Offers a referenced, completely computed page to others. Returns the serial its successor must name as parent:
    // that of an equal page published earlier, when there is one.
    PageSerial publish(PageId page, PageSerial parent, std::span<const TokenId, page_tokens> tokens);

  private:
    static constexpr PageId none = ~PageId{0};

    struct Page {
        std::uint32_t references = 0;
        PageSerial serial = root_serial;  // root_serial: not published
        PageSerial parent = root_serial;
        std::array<TokenId, page_tokens> tokens{};
        PageId newer = none;  // neighbours in the list of unused published pages
        PageId older = none;
    };

    static std::uint64_t key(PageSerial parent, std::span<const TokenId, page_tokens> tokens);
    const PageId* lookup(PageSerial parent, std::span<const TokenId, page_tokens> tokens) const;
    void push_newest(PageId page);
    void unlink(PageId page);

    std::vector<Page> pages_;
    std::vector<PageId> free_;
    std::unordered_map<std::uint64_t, PageId> index_;  // by key(); published pages
    PageId newest_ = none;
    PageId oldest_ = none;
    std::uint32_t unused_ = 0;
    PageSerial last_serial_ = root_serial;
};

}  // namespace exa::engine
