// exaserve config: what a peer's options are, and how they change while it runs.
#pragma once

#include "exaserve/arguments.h"
#include "exaserve/failure.h"
#include "exaserve/table.h"

namespace exa::cli {

// The text for standard output. `style` does not matter with --json.
Outcome<std::string> ask(const ConfigOptions& options, Style style);

}  // namespace exa::cli
