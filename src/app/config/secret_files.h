// Files with secrets that others on this machine can read or change.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "app/config/config.h"
#include "base/log.h"

namespace exa::app::config {

struct ExposedFile {
    std::string key;  // of the configuration
    std::string path;
    std::string mode;  // "0644"
    std::string fix;   // a command
};

enum class Secrecy : std::uint8_t {
    secret,  // nobody else may read it
    hashes,  // nobody else may write it
};

// Whether a file of this mode and owner is open to others. One of root's may be read by its group, as packages set up
// services' keys.
bool is_exposed(Secrecy secrecy, mode_t mode, uid_t owner);

// Of the files that the configuration names; those that are not there are somebody else's to tell.
std::vector<ExposedFile> find_exposed_files(const PeerConfig& config);

// A warning for each.
void warn_of_exposed_files(const PeerConfig& config, Log& log);

}  // namespace exa::app::config
