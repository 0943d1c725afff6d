// Near match: what the writer of a wrong name may have meant.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace exa::sim {

// ", did you mean 'loss'?" when one of `known` is at most a third of its letters away from `name` (insertions,
// deletions, changes, swaps of neighbours); empty otherwise. Of equals the first.
std::string did_you_mean(std::string_view name, std::span<const std::string_view> known);

}  // namespace exa::sim
