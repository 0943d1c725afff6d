// exasim: the cluster on a virtual clock, network and disk. See `exasim --help`.
#include "sim/exasim/commands.h"

int main(int argc, char** argv) {
    using namespace exa::sim;
    return run_command_line(argc, argv,
                            {run_command(), list_command(), check_command(), explain_command(), replay_command(),
                             swarm_command(), shrink_command(), mutants_command(), report_command(), score_command()});
}
