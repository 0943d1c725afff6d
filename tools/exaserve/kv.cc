#include "exaserve/kv.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/outcome/try.hpp>
#include <chrono>
#include <fstream>
#include <iostream>
#include <iterator>
#include <utility>

#include "base/base64.h"
#include "exaserve/admin_client.h"
#include "exaserve/exit_code.h"
#include "exaserve/show.h"

namespace exa::cli {

namespace {

namespace json = boost::json;

constexpr std::size_t value_bytes_max = 8 * 1024 * 1024;

AdminClient client_of(const Target& target) {
    return AdminClient(target.url, target.admin_key, std::chrono::seconds(60), target.ca_file);
}

std::string line(std::string_view name, const std::string& value) {
    std::string out(name);
    out.resize(12, ' ');
    return out + value + "\n";
}

// Null when it is not there.
const json::value* member(const json::value& reply, std::string_view name) {
    const auto* object = reply.if_object();
    return object == nullptr ? nullptr : object->if_contains(name);
}

Outcome<std::string> read_file(const std::string& path) {
    std::string value;
    if (path == "-") {
        value.assign(std::istreambuf_iterator<char>(std::cin), {});
    } else {
        std::ifstream file(path, std::ios::binary);
        if (!file) return Failure{exit_usage, path + " cannot be read"};
        value.assign(std::istreambuf_iterator<char>(file), {});
    }
    if (value.size() > value_bytes_max) return Failure{exit_usage, path + " is larger than 8 MiB"};
    return value;
}

std::string located_text(const json::value& reply, Style style) {
    if (const json::value* list = member(reply, "segments"); list != nullptr && list->is_array()) {
        Table table({{"SEGMENT", Align::right}, {"MEMORY"}, {"DISK"}, {"KEY"}});
        const json::array& segments = list->get_array();
        for (std::size_t i = 0; i < segments.size(); ++i) {
            const json::value* disk = member(segments[i], "disk");
            table.add_row({std::to_string(i), field_text(segments[i], "memory") == "true" ? "yes" : "no",
                           disk == nullptr || disk->is_null() ? "no" : "yes", field_text(segments[i], "key")});
        }
        return table.render(style);
    }
    const json::value* disk = member(reply, "disk");
    const bool on_disk = disk != nullptr && !disk->is_null();
    return line("memory", field_text(reply, "memory") == "true" ? "yes" : "no") +
           line("disk", on_disk ? field_text(*disk, "bytes") + " bytes, a " + field_text(*disk, "kind") +
                                      " of tenant " + field_text(*disk, "tenant")
                                : "no");
}

Outcome<std::string> get(const KvOptions& options, json::value reply) {
    const auto payload = from_base64(field_text(reply, "payload"));
    if (!payload) return Failure{exit_refused, "the peer's answer holds no payload"};
    if (!options.file.empty()) {
        std::ofstream file(options.file, std::ios::binary | std::ios::trunc);
        file.write(reinterpret_cast<const char*>(payload->data()), static_cast<std::streamsize>(payload->size()));
        if (!file.flush()) return Failure{exit_failed, options.file + " cannot be written"};
        if (auto* object = reply.if_object()) object->erase("payload");
    }
    if (options.target.json) return json::serialize(reply) + "\n";
    return line("kind", field_text(reply, "kind")) + line("tokens", field_text(reply, "tokens")) +
           line("payload", std::to_string(payload->size()) + " bytes") + line("parent", field_text(reply, "parent")) +
           line("tenant", field_text(reply, "tenant"));
}

// One round over the whole disk, a part for each order.
Outcome<std::string> verify(const KvOptions& options) {
    const AdminClient client = client_of(options.target);
    std::int64_t checked = 0;
    std::int64_t dropped = 0;
    bool finished = false;
    while (!finished) {
        BOOST_OUTCOME_TRY(const auto reply, client.post("kv", json::object{{"action", "verify"}}));
        const auto number = [&](std::string_view name) {
            const json::value* value = member(reply, name);
            return value != nullptr && value->is_int64() ? value->get_int64() : 0;
        };
        checked += number("checked");
        dropped += number("dropped");
        // A part in which there was nothing to check ends it too.
        finished = field_text(reply, "finished") != "false" || number("checked") == 0;
    }
    if (options.target.json) return json::serialize(json::object{{"checked", checked}, {"dropped", dropped}}) + "\n";
    return std::to_string(checked) + " segments verified, " + std::to_string(dropped) + " dropped\n";
}

Outcome<std::string> quota(const KvOptions& options) {
    json::object order{{"action", "quota"}, {"tenant", options.tenant}};
    if (options.gib) order["gib"] = *options.gib;
    BOOST_OUTCOME_TRY(const auto reply, client_of(options.target).post("kv", order));
    if (options.target.json) return json::serialize(reply) + "\n";
    const json::value* bytes = member(reply, "bytes");
    json::error_code unknown;
    const double taken = bytes == nullptr ? 0 : bytes->to_number<double>(unknown);
    return "the tenant's segments take " + human_bytes(taken) + " of the disk\n";
}

}  // namespace

Outcome<std::string> ask(const KvOptions& options, Style style) {
    if (options.command == KvCommand::stats) {
        BOOST_OUTCOME_TRY(const auto reply, client_of(options.target).get("kv"));
        return options.target.json ? json::serialize(reply) + "\n" : kv_text(reply, style);
    }
    if (options.command == KvCommand::verify) return verify(options);
    if (options.command == KvCommand::quota) return quota(options);
    json::object order{{"key", options.key}};
    switch (options.command) {
        case KvCommand::locate: {
            order["action"] = "locate";
            if (!options.file.empty()) {
                BOOST_OUTCOME_TRY(const auto text, read_file(options.file));
                json::error_code broken;
                order["request"] = json::parse(text, broken);
                if (broken) return Failure{exit_usage, options.file + ": no JSON"};
                order["tenant"] = options.tenant;
            }
            break;
        }
        case KvCommand::get:
            order["action"] = "get";
            break;
        case KvCommand::put: {
            BOOST_OUTCOME_TRY(const auto value, read_file(options.file));
            order["action"] = "put";
            order["payload"] = to_base64(as_bytes(value));
            break;
        }
        default:
            order["action"] = "delete";
    }
    BOOST_OUTCOME_TRY(auto reply, client_of(options.target).post("kv", order));
    if (options.command == KvCommand::get) return get(options, std::move(reply));
    if (options.target.json) return json::serialize(reply) + "\n";
    if (options.command == KvCommand::locate) return located_text(reply, style);
    if (options.command == KvCommand::put) return field_text(reply, "outcome") + "\n";
    return std::string(field_text(reply, "deleted") == "true" ? "deleted\n" : "it was not here\n");
}

}  // namespace exa::cli
