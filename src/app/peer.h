// The life of one peer, from its configuration to its leaving.
#pragma once

#include <string_view>

#include "app/config/config.h"
#include "base/result.h"

namespace exa::app {

// Runs a peer until SIGTERM, SIGINT or an operator's leave, then drains it; a second signal ends it at once.
// `software` is the version to show. `config` must be complete (complete_config). Errors: those of app::errc; success
// means that it left in good order.
Result<void> run_peer(const PeerConfig& config, std::string_view software);

}  // namespace exa::app
