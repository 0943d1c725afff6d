// `exaserve kv`: the KV cache of one peer, or where its segments are in the cluster.
#pragma once

#include "exaserve/arguments.h"
#include "exaserve/failure.h"
#include "exaserve/table.h"

namespace exa::cli {

// The text for standard output. `style` does not matter with --json.
Outcome<std::string> ask(const KvOptions& options, Style style);

}  // namespace exa::cli
