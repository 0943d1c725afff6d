// `exaserve up`: a local cluster as child processes, from start to Ctrl-C.
#pragma once

#include "exaserve/plan.h"

namespace exa::cli {

// Starts the peers, waits until every replica is ready, prints the URLs, and stays until SIGINT or SIGTERM; then ends
// the peers as politely as there is time for. Returns the exit code: of the peer that failed first when the cluster did
// not come up. Blocks the signals it waits for; call it from a process with one thread.
int run_up(const UpOptions& options);

}  // namespace exa::cli
