// The version of this program, from the build.
#pragma once

#include <string_view>

namespace exa::cli {

inline constexpr std::string_view version = EXASERVE_VERSION;

}  // namespace exa::cli
