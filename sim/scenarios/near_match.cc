#include "sim/scenarios/near_match.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace exa::sim {

namespace {

// Optimal string alignment (Damerau 1964, Levenshtein 1966): edits between `a` and `b`, no part edited twice.
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> before;
    std::vector<std::size_t> last(b.size() + 1);
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0U : 1U)});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = std::min(row[j], before[j - 2] + 1);
        }
        before = std::exchange(last, row);
    }
    return last[b.size()];
}

}  // namespace

std::string did_you_mean(std::string_view name, std::span<const std::string_view> known) {
    std::string_view best;
    std::size_t edits = 0;
    for (const std::string_view one : known) {
        const std::size_t away = distance(name, one);
        if (away > std::max<std::size_t>(1, one.size() / 3) || (!best.empty() && away >= edits)) continue;
        best = one;
        edits = away;
    }
    return best.empty() ? std::string() : ", did you mean '" + std::string(best) + "'?";
}

}  // namespace exa::sim
