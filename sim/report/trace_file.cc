#include "sim/report/trace_file.h"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <utility>

#include "membership/event.h"
#include "sim/errc.h"
#include "sim/report/outcome_json.h"

namespace exa::sim {

namespace {

namespace json = boost::json;

// Of the file's format.
constexpr std::int64_t version = 1;

std::string_view told_text(std::uint64_t kind) {
    switch (static_cast<membership::EventKind>(kind)) {
        case membership::EventKind::joined:
            return "joined";
        case membership::EventKind::suspect:
            return "suspect";
        case membership::EventKind::alive:
            return "alive";
        case membership::EventKind::dead:
            return "dead";
        case membership::EventKind::lost:
            return "lost";
        case membership::EventKind::left:
            return "left";
        case membership::EventKind::updated:
            return "updated";
        case membership::EventKind::forgotten:
            return "forgotten";
        case membership::EventKind::name_conflict:
            return "name_conflict";
        case membership::EventKind::waits_for_name:
            return "waits_for_name";
        case membership::EventKind::id_conflict:
            return "id_conflict";
        case membership::EventKind::rack_down:
            return "rack_down";
        case membership::EventKind::losses_held:
            return "losses_held";
        case membership::EventKind::losses_released:
            return "losses_released";
        case membership::EventKind::udp_blocked:
            return "udp_blocked";
        case membership::EventKind::udp_restored:
            return "udp_restored";
        case membership::EventKind::pair_udp_blocked:
            return "pair_udp_blocked";
        case membership::EventKind::pair_udp_restored:
            return "pair_udp_restored";
        case membership::EventKind::pair_link_blocked:
            return "pair_link_blocked";
        case membership::EventKind::pair_link_restored:
            return "pair_link_restored";
        case membership::EventKind::joined_cluster:
            return "joined_cluster";
        case membership::EventKind::alone_with_seeds:
            return "alone_with_seeds";
        case membership::EventKind::seed_silent:
            return "seed_silent";
        case membership::EventKind::left_cluster:
            return "left_cluster";
        case membership::EventKind::keys_changed:
            return "keys_changed";
        case membership::EventKind::heard_plaintext:
            return "heard_plaintext";
        case membership::EventKind::heard_encrypted:
            return "heard_encrypted";
        case membership::EventKind::heard_foreign_key:
            return "heard_foreign_key";
    }
    return "?";
}

Error bad(const std::string& path, std::string_view why) {
    return error(errc::bad_trace, fmt::format("{}: {}", path, why));
}

}  // namespace

std::string to_line(const TraceHeader& header) {
    json::array settings;
    for (const Setting& setting : header.settings) settings.push_back(json::array{setting.key, setting.value});
    return json::serialize(json::object{{"exasim", version},
                                        {"scenario", header.scenario},
                                        {"seed", header.seed},
                                        {"mutant", header.mutant},
                                        {"settings", std::move(settings)},
                                        {"text", header.text}}) +
           "\n";
}

std::string to_line(const TraceEntry& entry) {
    return fmt::format(
        "{{\"n\":{},\"t_us\":{},\"e\":\"{}\",\"at\":{},\"from\":{},\"arg\":{},\"d\":\"{}\",\"c\":{},"
        "\"h\":\"{}\"}}\n",
        entry.number, entry.at.time_since_epoch().count(), to_string(entry.kind), entry.host, entry.from, entry.arg,
        hex(entry.digest), entry.cause, hex(entry.hash));
}

std::string describe(const TraceEntry& entry) {
    std::string text = fmt::format("{:>9} {:>12.6f} s  {:<13} peer {}", entry.number, seconds_of(entry.at),
                                   to_string(entry.kind), entry.host);
    switch (entry.kind) {
        case EventKind::datagram:
        case EventKind::sync:
        case EventKind::link_broken:
        case EventKind::link_silent:
            text += fmt::format(" <- peer {}", entry.from);
            break;
        case EventKind::told:
            // `from` is the host of whom it speaks.
            text += fmt::format(": {} of peer {}", told_text(entry.arg), entry.from);
            break;
        case EventKind::replica_ready:
            text += fmt::format(" slot {}", entry.arg);
            break;
        case EventKind::fault:
        case EventKind::heal:
            text = fmt::format("{:>9} {:>12.6f} s  {:<13} {}", entry.number, seconds_of(entry.at),
                               to_string(entry.kind), entry.arg);
            break;
        default:
            break;
    }
    return text;
}

Result<TraceReader> TraceReader::open(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    if (!std::getline(file, line)) return bad(path, "cannot be read");
    boost::system::error_code failed;
    const json::value parsed = json::parse(line, failed);
    const json::object* root = failed ? nullptr : parsed.if_object();
    if (root == nullptr || !root->contains("exasim")) return bad(path, "its first line is no header");
    if (root->at("exasim") != json::value(version)) return bad(path, "it is of another version of exasim");
    TraceHeader header;
    const auto text = [&](std::string_view key, std::string& out) {
        const json::value* value = root->if_contains(key);
        if (value == nullptr || !value->is_string()) return false;
        out = value->as_string();
        return true;
    };
    const json::value* seed = root->if_contains("seed");
    const json::value* settings = root->if_contains("settings");
    if (!text("scenario", header.scenario) || !text("text", header.text) || !text("mutant", header.mutant) ||
        seed == nullptr || !(seed->is_int64() || seed->is_uint64()) || settings == nullptr || !settings->is_array())
        return bad(path, "its header lacks a key");
    header.seed = seed->is_int64() ? static_cast<std::uint64_t>(seed->get_int64()) : seed->get_uint64();
    for (const json::value& pair : settings->get_array()) {
        const json::array* two = pair.if_array();
        if (two == nullptr || two->size() != 2 || !two->at(0).is_string() || !two->at(1).is_string())
            return bad(path, "a setting in its header is no pair of texts");
        header.settings.push_back({std::string(two->at(0).get_string()), std::string(two->at(1).get_string())});
    }
    return TraceReader(std::move(file), std::move(header));
}

std::string TraceReader::next() {
    std::string line;
    // A last line without its end is cut off.
    if (!std::getline(file_, line) || file_.eof()) return {};
    return line + "\n";
}

}  // namespace exa::sim
