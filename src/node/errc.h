// Why a command that binds other peers was refused. In every case nothing changed.
#pragma once

#include <system_error>

namespace exa::node {

enum class errc {
    not_encrypted = 1,  // there are no keys, and a running cluster cannot be given its first one
    unknown_key,        // no key of this id is installed
    in_use,             // the key that this peer seals with, which is all that keeps it in touch
    too_many_keys,      // KeyRing::installed_max are installed
    would_cut_off,      // peers that are named would not understand, or not be understood, any more
    not_rejoined        // this peer has not met its cluster, or the members that are named, since it started
};

std::error_code make_error_code(errc code);

}  // namespace exa::node

template <>
struct std::is_error_code_enum<exa::node::errc> : std::true_type {};
