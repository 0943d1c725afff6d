// exaserve peer: one peer, until it has left.
#pragma once

#include "exaserve/arguments.h"

namespace exa::cli {

// Failures go to standard error. Returns the exit code.
int run_peer_command(const PeerOptions& options);

}  // namespace exa::cli
