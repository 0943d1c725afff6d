#include "app/admin/keys_json.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/outcome/try.hpp>
#include <chrono>

#include "app/admin/admin_json.h"
#include "base/base64.h"
#include "node/errc.h"
#include "openai/json.h"
#include "openai/utf8.h"

namespace exa::app::admin {

namespace {

namespace json = boost::json;
using membership::Liveness;
using openai::valid_utf8;

constexpr std::size_t command_bytes_max = 4096;

json::value id_or_null(KeyId id) {
    return id == KeyId{} ? json::value(nullptr) : json::value(to_string(id));
}

json::array ids_json(const std::vector<KeyId>& ids) {
    json::array array;
    for (const KeyId id : ids) array.push_back(json::value(to_string(id)));
    return array;
}

json::object key_json(KeyId id, const shared::ControlView& view) {
    std::size_t held = 0;
    std::size_t primaries = 0;
    json::array missing;
    for (const auto& member : view.members->members) {
        if (member->liveness == Liveness::left) continue;
        if (std::ranges::binary_search(member->record->keys, id))
            ++held;
        else
            missing.push_back(json::value(valid_utf8(member->record->name)));
        primaries += member->record->primary_key == id ? 1 : 0;
    }
    return {{"id", to_string(id)},
            {"primary", id == view.seal->primary},
            {"held_by", held},
            {"missing_on", std::move(missing)},
            {"used_by", primaries}};
}

openai::ApiResult<access::KeyCommand> parse_add(const openai::Fields& fields) {
    access::AddKey command;
    BOOST_OUTCOME_TRY(const auto force, fields.boolean("force"));
    command.insist = force.value_or(false);
    BOOST_OUTCOME_TRY(const auto secret, fields.text("secret"));
    if (!secret) return command;
    const auto bytes = from_base64(*secret);
    // The value is not shown: it may be nearly a key.
    if (!bytes || bytes->size() != sizeof(KeySecret))
        return openai::out_of_range("secret", "(hidden)", "32 bytes as base64");
    std::ranges::copy(*bytes, command.secret.emplace().begin());
    return command;
}

// UseKey and RemoveKey have the same members.
template <class Command>
openai::ApiResult<access::KeyCommand> parse_change(const openai::Fields& fields) {
    BOOST_OUTCOME_TRY(const auto force, fields.boolean("force"));
    BOOST_OUTCOME_TRY(const auto id, fields.text("id"));
    if (!id) return openai::missing("id");
    const auto parsed = parse_key_id(*id);
    if (!parsed) return openai::out_of_range("id", *id, "8 hexadecimal digits, as 'exaserve keys list' shows");
    return Command{*parsed, force.value_or(false)};
}

}  // namespace

std::string_view alarm_name(membership::EventKind kind) {
    switch (kind) {
        case membership::EventKind::heard_plaintext:
            return "receives plaintext gossip, which an encrypted cluster drops";
        case membership::EventKind::heard_encrypted:
            return "receives encrypted gossip but has no key";
        case membership::EventKind::heard_foreign_key:
            return "receives gossip encrypted with a key that it does not hold";
        default:
            return "unknown alarm";
    }
}

json::value keys_json(const shared::ControlView& view) {
    json::array keys;
    for (const KeyId id : view.seal->installed) keys.push_back(key_json(id, view));
    json::array peers;
    for (const auto& member : view.members->members) {
        if (member->liveness == Liveness::left) continue;
        peers.push_back(json::object{{"name", valid_utf8(member->record->name)},
                                     {"liveness", name_of(member->liveness)},
                                     {"primary", id_or_null(member->record->primary_key)},
                                     {"keys", ids_json(member->record->keys)}});
    }
    return json::object{{"encrypted", view.seal->sealed},
                        {"primary", id_or_null(view.seal->primary)},
                        {"keys", std::move(keys)},
                        {"peers", std::move(peers)}};
}

json::value seal_json(TimePoint now, const shared::SealView& seal) {
    json::array alarms;
    for (const node::SealAlarm& alarm : seal.alarms)
        alarms.push_back(json::object{{"name", alarm_name(alarm.kind)},
                                      {"packets", alarm.packets},
                                      {"from", to_string(alarm.from)},
                                      {"key", id_or_null(alarm.key)},
                                      {"last_seconds", std::chrono::duration<double>(now - alarm.last).count()}});
    const node::SealCounters& counters = seal.counters;
    return json::object{{"encrypted", seal.sealed},
                        {"primary", id_or_null(seal.primary)},
                        {"keys", ids_json(seal.installed)},
                        {"stored", seal.stored},
                        {"alarms", std::move(alarms)},
                        {"dropped",
                         {{"plaintext", counters.plain},
                          {"encrypted", counters.sealed},
                          {"unknown_key", counters.unknown_key},
                          {"not_authentic", counters.not_authentic},
                          {"replayed", counters.replayed},
                          {"damaged", counters.damaged}}}};
}

openai::ApiResult<access::KeyCommand> parse_key_command(std::string_view body) {
    BOOST_OUTCOME_TRY(const auto value, openai::parse_object(body, command_bytes_max));
    const openai::Fields fields(value.get_object(), {});
    BOOST_OUTCOME_TRY(const auto action, fields.text("action"));
    if (!action) return openai::missing("action");
    if (*action == "add") return parse_add(fields);
    if (*action == "use") return parse_change<access::UseKey>(fields);
    if (*action == "remove") return parse_change<access::RemoveKey>(fields);
    return openai::out_of_range("action", *action, "add, use or remove");
}

json::value key_change_json(const access::KeyChange& change) {
    return json::object{{"id", to_string(change.id)},
                        {"warning", change.warning.empty() ? json::value(nullptr) : json::value(change.warning)}};
}

openai::ApiError command_refusal(const Error& error) {
    openai::ApiError refusal;
    refusal.status = error.code == node::errc::unknown_key ? 404 : 409;
    refusal.type = "invalid_request_error";
    refusal.code = error.code == node::errc::not_rejoined ? "not_rejoined" : "key_command_refused";
    refusal.message = valid_utf8(error.message());
    return refusal;
}

}  // namespace exa::app::admin
