// Keys in files of the operator (membership/key_file.h).
#pragma once

#include <string>
#include <vector>

#include "base/cluster_key.h"
#include "exaserve/failure.h"

namespace exa::cli {

// A fresh key of the system's generator as a key file, with its id in a comment.
std::string fresh_key();
// The same as JSON: {"id","secret"}, the secret as base64.
std::string fresh_key_json();

// "-" is standard input. exit_usage when it cannot be read or holds no keys.
Outcome<std::vector<ClusterKey>> read_keys(const std::string& file);

// Puts fresh_key() there, readable by the owner only, unless there is such a file already. exit_data_dir.
Outcome<void> make_key_file(const std::string& file);

}  // namespace exa::cli
