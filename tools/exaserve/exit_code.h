// Exit codes of exaserve; `exaserve --help` documents them.
#pragma once

namespace exa::cli {

inline constexpr int exit_ok = 0;
inline constexpr int exit_failed = 1;
inline constexpr int exit_usage = 2;        // a flag, a configuration key, or a model file that cannot be used
inline constexpr int exit_cannot_bind = 3;  // a port is taken, or an address is not of this machine
inline constexpr int exit_unreachable = 4;  // no peer answers at the URL
inline constexpr int exit_refused = 5;      // the peer answered with an error
inline constexpr int exit_data_dir = 6;     // the data directory is in use by another process, or cannot be written
inline constexpr int exit_identity = 7;     // the cluster knows this peer's id or name as somebody else's

}  // namespace exa::cli
