// What an operator can set of router::Config: its names, ranges and help, once for the parser, validate() and the
// reference page.
#pragma once

#include <vector>

#include "base/option.h"
#include "router/config.h"

namespace exa::router {

const std::vector<Option<Config>>& options();

}  // namespace exa::router
