// `exaserve apikeys`: keys in the file of tenants (app/access/api_key_file.h). It works on the file alone and asks no
// peer.
#pragma once

#include <string>

#include "exaserve/arguments.h"
#include "exaserve/failure.h"
#include "exaserve/table.h"

namespace exa::cli {

// The text for standard output: of `create` the key, which is shown this once. exit_usage: the file or an argument is
// wrong, and nothing was changed; exit_data_dir: it cannot be written.
Outcome<std::string> ask(const ApiKeysOptions& options, Style style);

}  // namespace exa::cli
