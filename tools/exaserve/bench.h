// exaserve bench: a load test from the command line.
#pragma once

#include "exaserve/bench_options.h"

namespace exa::cli {

// Runs it to its end or to Ctrl-C; the report goes to standard output, progress and failures to standard error. Returns
// the exit code.
int run_bench(const BenchOptions& options);

}  // namespace exa::cli
