// Why bytes are not a segment that may be used.
#pragma once

#include <system_error>

namespace exa::kv {

enum class errc {
    malformed = 1,   // not a sealed segment, of another format, or of another length than it says
    wrong_key,       // a sealed segment, but not the one that was asked for
    wrong_checksum,  // the payload has changed
    wrong_seal,      // not sealed under this cluster's secret, or the header has changed
};

std::error_code make_error_code(errc code);

}  // namespace exa::kv

template <>
struct std::is_error_code_enum<exa::kv::errc> : std::true_type {};
