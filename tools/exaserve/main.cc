// exaserve: one file to copy to a node. See `exaserve --help`.
#include <cstdio>
#include <variant>

#include "exaserve/arguments.h"
#include "exaserve/run.h"

int main(int argc, char** argv) {
    const auto parsed = exa::cli::parse_arguments(argc, argv);
    if (const auto* command = std::get_if<exa::cli::Command>(&parsed)) return exa::cli::run(*command);
    const auto& end = std::get<exa::cli::NoCommand>(parsed);
    std::fputs(end.output.c_str(), stdout);
    std::fputs(end.errors.c_str(), stderr);
    return end.exit_code;
}
