// The commands of exasim, one file each: swarm.cc holds swarm_command(), and so on. A command writes to standard output
// and returns the process's exit code.
#pragma once

#include "sim/exasim/command_line.h"

namespace exa::sim {

Command run_command();
Command list_command();
Command check_command();
Command explain_command();
Command replay_command();
Command mutants_command();
Command swarm_command();
Command shrink_command();
Command report_command();
Command score_command();

}  // namespace exa::sim
