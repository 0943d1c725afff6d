// What can be wrong with bytes that came from outside. In every case nothing was applied: decoding is all or nothing.
#pragma once

#include <system_error>

namespace exa::wire {

enum class errc {
    truncated = 1,    // the bytes end before the message does
    malformed,        // the bytes are no message, or a field is outside its range
    oversized,        // a message, list or text is longer than its limit
    wrong_cluster,    // well formed, of another cluster
    wrong_version,    // well formed, of an incompatible major wire version
    unknown_kind,     // well formed, of a kind this build does not know
    too_big_to_send,  // our own message does not fit its limit; nothing was encoded
    not_sealed,       // a plain packet where only sealed ones are taken
    sealed,           // a sealed packet where there is no key
    unknown_key,      // sealed with a key that is not held here
    not_authentic,    // not what a holder of the key sealed
    replayed,         // authentic, but here before or too old to tell
    damaged,          // its checksum does not fit
    seal_used_up      // no counter is left for our own packets; only a restart gives new ones
};

std::error_code make_error_code(errc code);

}  // namespace exa::wire

template <>
struct std::is_error_code_enum<exa::wire::errc> : std::true_type {};
