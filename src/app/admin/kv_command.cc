#include "app/admin/kv_command.h"

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <boost/outcome/try.hpp>
#include <charconv>
#include <system_error>
#include <utility>

#include "base/base64.h"
#include "base/bytes.h"
#include "openai/json.h"

namespace exa::app::admin {

namespace {

namespace json = boost::json;
using openai::Fields;
using Parsed = openai::ApiResult<KvCommand>;

constexpr std::uint32_t quota_gib_max = 1'048'576;

openai::ApiResult<exa::kv::SegmentKey> parse_key(const std::string& text) {
    const auto key = exa::kv::parse_segment_key(text);
    if (!key) return openai::out_of_range("key", text, "64 hexadecimal digits");
    return *key;
}

openai::ApiResult<exa::kv::SegmentKey> key_of(const Fields& fields) {
    BOOST_OUTCOME_TRY(const auto key, fields.text("key"));
    if (!key) return openai::missing("key");
    return parse_key(*key);
}

openai::ApiResult<std::vector<exa::kv::SegmentKey>> keys_of(const json::value& list) {
    if (!list.is_array()) return openai::wrong_type("keys", "an array", openai::kind_name(list));
    const json::array& texts = list.get_array();
    if (texts.size() > kv_command_keys_max)
        return openai::out_of_range("keys", std::to_string(texts.size()) + " keys", "at most 4096 of them");
    if (texts.empty()) return openai::out_of_range("keys", "[]", "at least one key");
    std::vector<exa::kv::SegmentKey> keys;
    for (const json::value& each : texts) {
        BOOST_OUTCOME_TRY(const auto text, openai::as_text(each, "keys"));
        BOOST_OUTCOME_TRY(const auto key, parse_key(text));
        keys.push_back(key);
    }
    return keys;
}

openai::ApiResult<std::string> tenant_of(const Fields& fields) {
    BOOST_OUTCOME_TRY(auto tenant, fields.text("tenant"));
    return std::move(tenant).value_or("");
}

openai::ApiResult<kv::KvSessions::Place> parse_place(const std::string& text) {
    const std::size_t dash = std::min(text.find('-'), text.size());
    const auto session = parse_hex(std::string_view(text).substr(0, dash));
    const char* const end = text.data() + text.size();
    kv::KvSessions::Place place;
    const auto [stop, failed] = std::from_chars(std::min(text.data() + dash + 1, end), end, place.key);
    if (!session || failed != std::errc{} || stop != end)
        return openai::out_of_range("after", text, "the \"next\" of an answer");
    place.session = *session;
    return place;
}

Parsed parse_locate_request(const json::value& request, const Fields& fields) {
    if (!request.is_object()) return openai::wrong_type("request", "an object", openai::kind_name(request));
    BOOST_OUTCOME_TRY(auto tenant, tenant_of(fields));
    return LocateRequest{json::serialize(request), std::move(tenant)};
}

Parsed parse_locate_session(const std::string& session) {
    const auto position = parse_hex(session);
    if (!position) return openai::out_of_range("session", session, "a position: 16 hexadecimal digits");
    return LocateSession{*position};
}

Parsed parse_locate_replica(const std::string& replica, const Fields& fields) {
    const auto id = parse_replica_id(replica);
    if (!id) return openai::out_of_range("replica", replica, "the id of a replica");
    LocateReplica command{*id, {}};
    BOOST_OUTCOME_TRY(const auto after, fields.text("after"));
    if (!after) return command;
    BOOST_OUTCOME_TRY(command.from, parse_place(*after));
    return command;
}

Parsed parse_locate_value(std::string user_key, const Fields& fields) {
    BOOST_OUTCOME_TRY(auto tenant, tenant_of(fields));
    return LocateValue{std::move(user_key), std::move(tenant)};
}

Parsed parse_locate(const Fields& fields) {
    if (const json::value* request = fields.find("request")) return parse_locate_request(*request, fields);
    BOOST_OUTCOME_TRY(const auto session, fields.text("session"));
    if (session) return parse_locate_session(*session);
    BOOST_OUTCOME_TRY(const auto replica, fields.text("replica"));
    if (replica) return parse_locate_replica(*replica, fields);
    BOOST_OUTCOME_TRY(auto value, fields.text("value"));
    if (value) return parse_locate_value(std::move(*value), fields);
    if (const json::value* list = fields.find("keys")) {
        BOOST_OUTCOME_TRY(auto keys, keys_of(*list));
        return LocateKeys{std::move(keys)};
    }
    BOOST_OUTCOME_TRY(const auto key, key_of(fields));
    return LocateKey{key};
}

Parsed parse_get(const Fields& fields) {
    BOOST_OUTCOME_TRY(const auto key, key_of(fields));
    return GetSegment{key};
}

Parsed parse_put(const Fields& fields) {
    BOOST_OUTCOME_TRY(const auto key, key_of(fields));
    BOOST_OUTCOME_TRY(const auto payload, fields.text("payload"));
    if (!payload) return openai::missing("payload");
    auto bytes = from_base64(*payload);
    if (!bytes) return openai::out_of_range("payload", "(hidden)", "base64");
    return PutValue{key, std::move(*bytes)};
}

Parsed parse_delete(const Fields& fields) {
    BOOST_OUTCOME_TRY(const auto key, key_of(fields));
    return DeleteSegment{key};
}

Parsed parse_verify(const Fields& fields) {
    BOOST_OUTCOME_TRY(const auto after, fields.text("after"));
    if (!after) return VerifyDisk{};
    BOOST_OUTCOME_TRY(const auto key, parse_key(*after));
    return VerifyDisk{key};
}

Parsed parse_quota(const Fields& fields) {
    BOOST_OUTCOME_TRY(const auto all, fields.boolean("all"));
    if (all.value_or(false)) return ListQuotas{};
    BOOST_OUTCOME_TRY(auto tenant, tenant_of(fields));
    const json::value* gib = fields.find("gib");
    if (gib == nullptr) return ShowQuota{std::move(tenant)};
    json::error_code failed;
    const auto number = gib->to_number<std::uint32_t>(failed);
    if (failed || number > quota_gib_max)
        return openai::out_of_range("gib", openai::show(*gib), "a whole number from 0 to 1048576");
    return SetQuota{std::move(tenant), number};
}

Parsed parse_migrate(const Fields& fields) {
    const json::value* list = fields.find("keys");
    if (list == nullptr) return openai::missing("keys");
    BOOST_OUTCOME_TRY(const auto to, fields.text("to"));
    if (!to) return openai::missing("to");
    const auto peer = parse_peer_id(*to);
    if (!peer) return openai::out_of_range("to", *to, "the id of a peer: 16 hexadecimal digits");
    BOOST_OUTCOME_TRY(auto keys, keys_of(*list));
    return MigrateSegments{std::move(keys), *peer};
}

struct Action {
    std::string_view name;
    Parsed (*parse)(const Fields& fields);
};
constexpr std::array actions = {Action{"locate", parse_locate},  Action{"get", parse_get},
                                Action{"put", parse_put},        Action{"delete", parse_delete},
                                Action{"verify", parse_verify},  Action{"quota", parse_quota},
                                Action{"migrate", parse_migrate}};

}  // namespace

openai::ApiResult<KvCommand> parse_kv_command(std::string_view body) {
    BOOST_OUTCOME_TRY(const auto value, openai::parse_object(body, kv_command_bytes_max));
    const Fields fields(value.get_object(), {});
    BOOST_OUTCOME_TRY(const auto name, fields.text("action"));
    if (!name) return openai::missing("action");
    const auto action = std::ranges::find(actions, *name, &Action::name);
    if (action == actions.end())
        return openai::out_of_range("action", *name, "locate, get, put, delete, verify, quota or migrate");
    return action->parse(fields);
}

std::string to_text(const kv::KvSessions::Place& place) {
    std::string text;
    append_hex(text, place.session);
    return text + "-" + std::to_string(place.key);
}

}  // namespace exa::app::admin
