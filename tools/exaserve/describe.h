// How each command describes itself to CLI11: its options, their help and its examples. One overload a command, each in
// the command's own file; arguments.cc puts them together.
#pragma once

#include <string>

#include "exaserve/arguments.h"

namespace CLI {
class App;
}

namespace exa::cli {

// The options of the subcommand; `options` outlives the parsing.
void describe(CLI::App& command, UpOptions& options);
void describe(CLI::App& command, PeerOptions& options);
void describe(CLI::App& command, JoinOptions& options);
void describe(CLI::App& command, LeaveOptions& options);
void describe(CLI::App& command, DrainOptions& options);
void describe(CLI::App& command, ConfirmDeadOptions& options);
void describe(CLI::App& command, MembersOptions& options);
void describe(CLI::App& command, StatusOptions& options);
void describe(CLI::App& command, ReplicasOptions& options);
void describe(CLI::App& command, RingOptions& options);
void describe(CLI::App& command, RouteOptions& options);
void describe(CLI::App& command, KvOptions& options);
void describe(CLI::App& command, KeysOptions& options);
void describe(CLI::App& command, ApiKeysOptions& options);
void describe(CLI::App& command, ConfigOptions& options);
void describe(CLI::App& command, BenchOptions& options);

// What several commands take.
void add_admin_key(CLI::App& command, std::string& key);
void add_target(CLI::App& command, Target& target);

}  // namespace exa::cli
