// The data behind char_class(); tools/unicode/generate.py writes it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace exa::model {

inline constexpr std::size_t char_class_run_count = 1564;

// Runs of code points of one class, in order, the first at 0: code point where the run begins << 2 | CharClass.
extern const std::array<std::uint32_t, char_class_run_count> char_class_runs;

}  // namespace exa::model
