// Why a load test cannot be run as it was asked for.
#pragma once

#include <system_error>

namespace exa::loadgen {

enum class errc {
    invalid_config = 1,  // nothing was started
    bad_distribution,    // the text of a distribution cannot be read
    bad_prompts,         // a line of a prompt file cannot be used; the detail names it
    bad_trace,           // a line of a trace cannot be used; the detail names it
};

std::error_code make_error_code(errc code);

}  // namespace exa::loadgen

template <>
struct std::is_error_code_enum<exa::loadgen::errc> : std::true_type {};
