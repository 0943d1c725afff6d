// What a peer's options are in the end, and where each value comes from: later ones of default, environment, profile,
// file and flag override earlier ones.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/config/config.h"
#include "base/result.h"

namespace exa::app::config {

enum class ValueSource : std::uint8_t {
    fallback,     // the default
    environment,  // a default that comes from the host's name or an XDG directory
    profile,      // of membership.profile
    file,
    flag,
};

// "default", "environment", "profile", "file", "flag".
std::string_view to_string(ValueSource source);

struct ConfigInputs {
    std::string file;                                        // empty: none
    std::vector<std::pair<std::string, std::string>> flags;  // options and their texts
    Environment environment;
};

struct EffectiveConfig {
    PeerConfig values;
    std::vector<ValueSource> sources;  // of peer_options(), in their order
};

// Reads the file. errc::usage names the place, the option, the value and the range.
Result<EffectiveConfig> effective_config(const ConfigInputs& inputs);

}  // namespace exa::app::config
