// `exaserve drain`: a peer of the cluster gives away what it holds and ends, watched from another one.
#pragma once

#include "exaserve/arguments.h"
#include "exaserve/failure.h"
#include "exaserve/table.h"

namespace exa::cli {

// Shows what is still running and to be handed over, until the peer has left. exit_failed: it had not after its time to
// drain.
Outcome<std::string> ask(const DrainOptions& options, Style style);

}  // namespace exa::cli
