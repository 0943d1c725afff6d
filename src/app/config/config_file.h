// Reads a TOML file of options. Tables nest the dotted names; an array of strings is a list.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace exa::app::config {

// One option as somebody gave it.
struct Setting {
    std::string name;
    std::string text;
    std::string place;  // where it stands: "peer.toml:3"; empty: on the command line
};

// errc::usage names file, line and key: it is not TOML, a key is unknown, or a value has another type than the key.
Result<std::vector<Setting>> read_config_file(const std::string& path);

}  // namespace exa::app::config
