// exaserve: one file to copy to a node. See `exaserve --help`.
#include <cstdio>
#include <string_view>
#include <variant>

#include "app/shutdown_signal.h"
#include "exaserve/arguments.h"
#include "exaserve/run.h"

int main(int argc, char** argv) {
    if (argc > 1 && std::string_view(argv[1]) == "peer") exa::app::hold_hangups();
    const auto parsed = exa::cli::parse_arguments(argc, argv);
    if (const auto* command = std::get_if<exa::cli::Command>(&parsed)) return exa::cli::run(*command);
    const auto& end = std::get<exa::cli::NoCommand>(parsed);
    std::fputs(end.output.c_str(), stdout);
    std::fputs(end.errors.c_str(), stderr);
    return end.exit_code;
}
