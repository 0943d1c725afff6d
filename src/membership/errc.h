// Why a command of membership was refused. In every case nothing changed.
#pragma once

#include <system_error>

namespace exa::membership {

enum class errc {
    invalid_config = 1,  // a value outside its range, or two that contradict each other
    invalid_record,      // our own record: not of this instance, or not encodable
    left,                // after leave() or a refusal to serve there is nothing more to command
    not_the_sender,      // a link message in the name of another peer
    invalid_keys,        // a key file that does not read as one
};

std::error_code make_error_code(errc code);

}  // namespace exa::membership

template <>
struct std::is_error_code_enum<exa::membership::errc> : std::true_type {};
