#include "membership/id_search.h"

#include <algorithm>

namespace exa::membership {

std::size_t lower_bound(std::span<const PeerId> ids, PeerId id) {
    __extension__ using Wide = unsigned __int128;
    const std::size_t guess = static_cast<std::size_t>(Wide{id.value} * ids.size() >> 64);
    // [low, high) grows from the guess until it holds the place: what is below low is below id, what is at high or
    // above is not.
    std::size_t low = guess;
    std::size_t high = guess;
    std::size_t step = 4;
    if (guess < ids.size() && ids[guess] < id) {
        do {
            low = high;
            high = std::min(high + step, ids.size());
            step *= 2;
        } while (high < ids.size() && ids[high] < id);
    } else {
        while (low > 0 && !(ids[low - 1] < id)) {
            high = low - 1;
            low -= std::min(low, step);
            step *= 2;
        }
    }
    const auto range = ids.subspan(low, high - low);
    return low + static_cast<std::size_t>(std::ranges::lower_bound(range, id) - range.begin());
}

}  // namespace exa::membership
