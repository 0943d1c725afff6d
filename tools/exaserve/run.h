// From a parsed command to its exit code.
#pragma once

#include "exaserve/arguments.h"

namespace exa::cli {

// Runs the command to its end; what it has to say goes to standard output, why it failed to standard error.
int run(const Command& command);

}  // namespace exa::cli
