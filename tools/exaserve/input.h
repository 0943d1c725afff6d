// What the command line says is to be read.
#pragma once

#include <string>

#include "exaserve/failure.h"

namespace exa::cli {

// All of it; "-" is standard input. exit_usage: it cannot be read, or is larger than 8 MiB.
Outcome<std::string> read_input(const std::string& path);

}  // namespace exa::cli
