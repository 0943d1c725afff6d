// The JSON of a peer's admin API about keys: what `exaserve keys` sends and shows. No secret ever stands in an answer.
//
//   GET  /exaserve/v1/keys                                         keys_json
//   POST /exaserve/v1/keys {"action":"add","secret":BASE64}        key_change_json   without a secret: a fresh key
//   POST /exaserve/v1/keys {"action":"use","id":ID,"force":BOOL}   key_change_json   409 when it could cut peers off
//   POST /exaserve/v1/keys {"action":"remove","id":ID,"force":BOOL}
#pragma once

#include <boost/json/value.hpp>
#include <string_view>

#include "app/access/key_command.h"
#include "app/shared/shared_view.h"
#include "base/result.h"
#include "membership/event.h"
#include "openai/error.h"

namespace exa::app::admin {

// {"encrypted","primary","keys":[{"id","primary","held_by","missing_on":[names],"used_by"}],
//  "peers":[{"name","liveness","primary","keys":[ids]}]}, the keys with the newest first; of peers that have not left.
boost::json::value keys_json(const shared::ControlView& view);

// {"encrypted","primary","keys":[ids],"stored","alarms":[{"name","packets","from","key","last_seconds"}],
//  "dropped":{"plaintext","encrypted","unknown_key","not_authentic","replayed"}}: what `status` says of the seal.
boost::json::value seal_json(TimePoint now, const shared::SealView& seal);

openai::ApiResult<access::KeyCommand> parse_key_command(std::string_view body);

// {"id","warning"}, the warning null when there is none.
boost::json::value key_change_json(const access::KeyChange& change);

// The HTTP answer to a command that was refused.
openai::ApiError command_refusal(const Error& error);

// "receives plaintext gossip", ...
std::string_view alarm_name(membership::EventKind kind);

}  // namespace exa::app::admin
