// What a peer's admin JSON (app/admin/admin_json.h) looks like to people.
//
// The JSON comes from another program, maybe of another version: what is missing shows as "-", never as a failure.
#pragma once

#include <boost/json/value.hpp>
#include <string>
#include <string_view>

#include "exaserve/table.h"

namespace exa::cli {

std::string members_text(const boost::json::value& reply, Style style);
std::string status_text(const boost::json::value& reply, Style style);
std::string ring_text(const boost::json::value& reply, Style style);
std::string route_text(const boost::json::value& reply, Style style);
std::string replicas_text(const boost::json::value& reply, Style style);
std::string keys_text(const boost::json::value& reply, Style style);
std::string kv_quota_text(const boost::json::value& reply);
std::string kv_quotas_text(const boost::json::value& reply, Style style);
std::string kv_text(const boost::json::value& reply, Style style);

// One member of an object, as the tables show it: "-" for null and what is not there.
std::string field_text(const boost::json::value& reply, std::string_view name);

}  // namespace exa::cli
