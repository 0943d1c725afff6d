// Why a replica refuses a request. Nothing changed in any of these cases.
#pragma once

#include <cstdint>
#include <system_error>

namespace exa::engine {

enum class errc : std::uint8_t {
    busy = 1,         // at its in-flight limit; another replica may take it
    prompt_too_long,  // prompt and answer do not fit the context
    invalid_request,  // the detail names the field and its range
    model_failed,     // the forward pass gave no usable result
    deadline,         // it waited for a permit as long as it may
};

std::error_code make_error_code(errc code);

}  // namespace exa::engine

template <>
struct std::is_error_code_enum<exa::engine::errc> : std::true_type {};
