// Commands that ask one peer something and show the answer.
#pragma once

#include "exaserve/arguments.h"
#include "exaserve/failure.h"
#include "exaserve/table.h"

namespace exa::cli {

// The text for standard output. `style` does not matter with --json.
Outcome<std::string> ask(const MembersOptions& options, Style style);
Outcome<std::string> ask(const StatusOptions& options, Style style);
Outcome<std::string> ask(const ReplicasOptions& options, Style style);
Outcome<std::string> ask(const RingOptions& options, Style style);
Outcome<std::string> ask(const RouteOptions& options, Style style);
Outcome<std::string> ask(const KeysOptions& options, Style style);
Outcome<std::string> ask(const JoinOptions& options, Style style);
// Waits, unless told not to, until nothing listens at the peer's URL any more: at most its own drain time and a little.
Outcome<std::string> ask(const LeaveOptions& options, Style style);
Outcome<std::string> ask(const ConfirmDeadOptions& options, Style style);

}  // namespace exa::cli
