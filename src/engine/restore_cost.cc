#include "engine/restore_cost.h"

#include <algorithm>

namespace exa::engine {

namespace {

constexpr double weight_of_new = 1.0 / 8;

}  // namespace

void RestoreCost::Rate::add(std::uint64_t amount, Duration took) {
    if (amount == 0) return;
    const double found = static_cast<double>(std::max<std::int64_t>(took.count(), 0)) / static_cast<double>(amount);
    us_per_unit_ = us_per_unit_ < 0 ? found : us_per_unit_ + weight_of_new * (found - us_per_unit_);
}

std::optional<Duration> RestoreCost::Rate::time_of(std::uint64_t amount) const {
    if (us_per_unit_ < 0) return std::nullopt;
    return Duration(static_cast<std::int64_t>(us_per_unit_ * static_cast<double>(amount)));
}

bool RestoreCost::is_worth(std::uint32_t tokens, std::uint64_t bytes) {
    const auto computed = prefill_time(tokens);
    const auto brought = restore_time(bytes);
    const bool worth = !computed || !brought || *brought < *computed || ++declined_ >= try_anyway;
    if (worth) declined_ = 0;
    return worth;
}

}  // namespace exa::engine
