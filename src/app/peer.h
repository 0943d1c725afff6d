// One peer, from its configuration to its leaving.
#pragma once

#include <string_view>

#include "app/config/effective.h"
#include "base/result.h"

namespace exa::app {

// Runs a peer until SIGTERM, SIGINT or an operator's leave, then drains it; a second signal ends it at once.
// SIGHUP reloads what can change live (LiveConfig), certificates and the access log; it never ends the peer. `software`
// is the version to show. Errors: those of app::errc; success means that it left in good order.
Result<void> run_peer(const config::ConfigInputs& inputs, std::string_view software);

}  // namespace exa::app
