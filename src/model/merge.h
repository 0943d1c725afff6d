// merge_symbols: joins neighbouring symbols, best pair first, until no pair can be joined. BPE and SentencePiece differ
// only in what makes a pair good.
//
// A queue of candidate pairs over a linked list: O(n log n), where joining by scanning would be quadratic on a long run
// of one character, which any client can send. Candidates go stale when a neighbour was joined first; they are dropped
// when they come up.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <queue>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/replica.h"

namespace exa::model {

// A slice of the text (below 4 GiB). Joining gives the left one the bytes of both and leaves the right one with size 0.
struct Symbol {
    std::uint32_t begin = 0;
    std::uint32_t size = 0;
    std::optional<engine::TokenId> token;
    std::uint32_t previous = 0;
    std::uint32_t next = 0;

    std::string_view text(std::string_view whole) const { return whole.substr(begin, size); }
};

struct Join {
    float cost = 0;  // least first; of equal ones the leftmost
    engine::TokenId token = 0;
};

// `symbols` lie side by side in order; previous and next need not be set. `find_join(left, right)` gives an
// std::optional<Join> and must depend on the two symbols alone.
template <class FindJoin>
void merge_symbols(std::vector<Symbol>& symbols, FindJoin find_join) {
    constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
    struct Candidate {
        Join join;
        std::uint32_t left = 0;
        std::uint32_t right = 0;
        std::uint32_t size = 0;  // of both together, then
        bool operator<(const Candidate& other) const {
            return join.cost != other.join.cost ? join.cost > other.join.cost : left > other.left;
        }
    };
    std::vector<Candidate> storage;
    storage.reserve(symbols.size());
    std::priority_queue<Candidate> queue(std::less<Candidate>(), std::move(storage));

    const auto consider = [&](std::uint32_t left, std::uint32_t right) {
        if (left == none || right == none) return;
        const std::optional<Join> join = find_join(symbols[left], symbols[right]);
        if (join) queue.push({*join, left, right, symbols[left].size + symbols[right].size});
    };

    const auto count = static_cast<std::uint32_t>(symbols.size());
    for (std::uint32_t i = 0; i < count; ++i) {
        symbols[i].previous = i == 0 ? none : i - 1;
        symbols[i].next = i + 1 == count ? none : i + 1;
    }
    for (std::uint32_t i = 1; i < count; ++i) consider(i - 1, i);

    while (!queue.empty()) {
        const Candidate best = queue.top();
        queue.pop();
        Symbol& left = symbols[best.left];
        Symbol& right = symbols[best.right];
        if (left.size == 0 || right.size == 0 || left.size + right.size != best.size) continue;
        left.size = best.size;
        left.token = best.join.token;
        left.next = right.next;
        right.size = 0;
        if (left.next != none) symbols[left.next].previous = best.left;
        consider(left.previous, best.left);
        consider(best.left, left.next);
    }
}

}  // namespace exa::model
