// The few things of the environment that defaults depend on.
#pragma once

#include "app/config/config.h"
#include "exaserve/table.h"

namespace exa::cli {

// XDG_STATE_HOME and XDG_CACHE_HOME, or their defaults below the home directory.
app::config::Environment current_environment();

// Colors on a terminal, unless NO_COLOR is set (https://no-color.org) or TERM is "dumb".
Style standard_output_style();

}  // namespace exa::cli
