// What operators see of a peer's options, as JSON.
#pragma once

#include <boost/json/value.hpp>

#include "app/config/live_config.h"

namespace exa::app::config {

// {"file":null or path,"options":[{"name","value","source","default","live"}]}. "source" is default, environment,
// profile, file or flag. Options with secrets name files, so no secret is in it.
boost::json::value config_json(const EffectiveConfig& config, const ConfigInputs& inputs);

// {"changed":[{"name","before","after"}],"needs_restart":[{"name","before","after"}]}; what needs a restart is still
// "before".
boost::json::value reload_json(const ReloadReport& report);

// {"options":[{"name","type","unit","range","default","live","help"}]}: everything that can be set.
boost::json::value options_json();

}  // namespace exa::app::config
