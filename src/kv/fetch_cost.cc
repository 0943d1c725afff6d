#include "kv/fetch_cost.h"

#include <algorithm>

namespace exa::kv {

namespace {

constexpr double weight_of_new = 1.0 / 8;

}  // namespace

void FetchCost::handle_read(std::uint64_t bytes, Duration took) {
    if (bytes == 0) return;
    const double found = static_cast<double>(std::max<std::int64_t>(took.count(), 1)) / static_cast<double>(bytes);
    us_per_byte_ = us_per_byte_ < 0 ? found : us_per_byte_ + weight_of_new * (found - us_per_byte_);
}

std::optional<double> FetchCost::bytes_per_second() const {
    if (us_per_byte_ < 0) return std::nullopt;
    return 1e6 / us_per_byte_ * readers_;
}

std::size_t FetchCost::worth(TimePoint now, const FetchTerms& terms, std::size_t count, std::uint64_t bytes,
                             std::uint64_t waiting) {
    if (us_per_byte_ < 0 || count == 0) return count;
    const double one = us_per_byte_ * static_cast<double>(bytes);
    const double before = us_per_byte_ * static_cast<double>(waiting) / readers_;
    const double left = terms.deadline == time_never ? 1e18 : static_cast<double>((terms.deadline - now).count());
    const auto is_worth = [&](std::size_t some) {
        const double last = before + std::max(one, one * static_cast<double>(some) / readers_);
        const double computed =
            terms.compute ? static_cast<double>(terms.compute->count()) * static_cast<double>(some) : last + 1;
        return last < computed && last < left;
    };
    // More segments make the first one's wait worth more, and the deadline harder to hold.
    std::size_t some = count;
    while (some > 0 && !is_worth(some)) --some;
    if (some == 0 && ++declined_ >= try_anyway) some = 1;
    if (some > 0) declined_ = 0;
    return some;
}

}  // namespace exa::kv
