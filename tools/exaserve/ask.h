// Commands that ask one peer something and show the answer; each stands in a file of its own name.
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <string_view>

#include "base/time.h"
#include "exaserve/admin_client.h"
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

AdminClient client_of(const Target& target, Duration idle_timeout = std::chrono::seconds(10));

using Show = std::string (*)(const boost::json::value& reply, Style style);
// The reply to a GET of this path, as JSON or as `show` writes it.
Outcome<std::string> get_and_show(const Target& target, std::string_view path, const Query& query, Style style,
                                  Show show);

// A member of the reply; 0 when the reply does not say.
std::int64_t number_in(const boost::json::value& reply, std::string_view name);

}  // namespace exa::cli
