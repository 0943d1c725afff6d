// What status and /health say of what an operator should look at.
#pragma once

#include <boost/json/value.hpp>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "membership/bootstrap.h"
#include "membership/view.h"
#include "openai/json.h"

namespace exa::app::admin {

// The names of the alarms that are raised: "losses_held", "udp_blocked", "alone_with_seeds", "seed_silent",
// "waits_for_name", "pair_udp_blocked", "pair_link_blocked".
boost::json::value alarms_json(const membership::View& view);

// [{"seed","state":"answering"|"self"|"silent"|"unresolved","addresses":[...],"heard_seconds"}]
boost::json::value seeds_json(TimePoint now, const std::vector<membership::SeedStatus>& seeds);

// [{"peer","id","channel":"datagrams"|"link to it"|"link from it","since_seconds"}]
boost::json::value broken_channels_json(TimePoint now, const membership::View& view);

// The namesake that this peer waits for: {"name","id","gossip"}; null: none.
boost::json::value name_holder_json(const membership::View& view);

// Of a command to confirm-dead: {"force"}, which is optional. An empty body is one without it.
openai::ApiResult<bool> parse_confirm_dead(std::string_view body);

}  // namespace exa::app::admin
