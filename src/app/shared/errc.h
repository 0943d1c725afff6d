// What can go wrong while a peer is put together, in the order of exit codes (docs/reference/command-line.md).
#pragma once

#include <system_error>

namespace exa::app::shared {

enum class errc {
    usage = 1,        // a bad flag, key or value
    bad_model,        // the model file cannot be used
    cannot_bind,      // a port is taken or an address is not ours
    data_dir_locked,  // another process uses the data directory
    data_dir,         // it cannot be read or written
    refused,          // the cluster knows this identity or name as somebody else's
};

std::error_code make_error_code(errc code);

}  // namespace exa::app::shared

template <>
struct std::is_error_code_enum<exa::app::shared::errc> : std::true_type {};
