// How many files this process may have open, and how many the configuration may need.
#pragma once

#include <cstdint>
#include <string>

#include "app/config/config.h"

namespace exa::app {

// Raises the limit (RLIMIT_NOFILE) as far as it may be raised: a shell's usual 1,024 are fewer than HttpConfig and
// LinkConfig allow. Returns what it is then.
std::uint64_t raise_open_files_limit();

// Connections of clients at their limits, and what the process itself keeps open.
std::uint64_t open_files_needed(const config::PeerConfig& peer);

// What to say of a limit that is too low; empty: it suffices.
std::string open_files_problem(const config::PeerConfig& peer, std::uint64_t limit);

}  // namespace exa::app
