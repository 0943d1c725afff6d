#include "exaserve/show.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <ctime>
#include <string_view>
#include <utility>
#include <vector>

namespace exa::cli {

namespace {

namespace json = boost::json;

const json::value& at(const json::value& value, std::string_view key) {
    static const json::value null;
    const auto* object = value.if_object();
    const auto* found = object == nullptr ? nullptr : object->if_contains(key);
    return found == nullptr ? null : *found;
}

// Strings as they are, numbers in digits, "-" for null and whatever is not there.
std::string text(const json::value& value) {
    if (value.is_null()) return "-";
    if (const auto* string = value.if_string()) return string->empty() ? "-" : printable(*string);
    return json::serialize(value);
}

std::string text(const json::value& value, std::string_view key) {
    return text(at(value, key));
}

double number(const json::value& value, std::string_view key) {
    json::error_code errc;
    const auto result = at(value, key).to_number<double>(errc);
    return errc ? -1 : result;
}

std::string duration(const json::value& value, std::string_view key) {
    return human_seconds(number(value, key));
}

// "2026-03-01" of seconds since 1970.
std::string date(double unix_seconds) {
    const auto seconds = static_cast<std::time_t>(unix_seconds);
    std::tm parts{};
    gmtime_r(&seconds, &parts);
    std::array<char, 16> text{};
    return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d", &parts)};
}

const json::array& list(const json::value& value, std::string_view key) {
    static const json::array empty;
    const auto* found = at(value, key).if_array();
    return found == nullptr ? empty : *found;
}

// Peers list by id, which no one remembers; people look for names. Items of one name keep their order.
std::vector<std::pair<std::string, const json::value*>> by_name(const json::array& items, std::string_view key) {
    std::vector<std::pair<std::string, const json::value*>> sorted;
    for (const json::value& item : items) sorted.emplace_back(text(item, key), &item);
    std::ranges::sort(sorted);
    return sorted;
}

std::string ready_of(const json::value& value) {
    return text(value, "replicas_ready") + "/" + text(value, "replicas");
}

// What an operator asks first: is it up, and if so, what does it do?
std::string member_state(const json::value& member) {
    const std::string liveness = text(member, "liveness");
    return liveness == "alive" ? text(member, "state") : liveness;
}

std::string line(std::string_view name, const std::string& value) {
    std::string out(name);
    out.resize(16, ' ');
    return out + value + "\n";
}

// "owner" comes as an id; people know the peer's name.
std::string named(const json::value& route, const json::value& id) {
    for (const json::value& candidate : list(route, "candidates")) {
        if (!id.is_null() && at(candidate, "replica") == id) return text(id) + " on " + text(candidate, "peer_name");
    }
    return text(id);
}

}  // namespace

std::string members_text(const json::value& reply, Style style) {
    Table table({{"NAME"},
                 {"STATE"},
                 {"SINCE", Align::right},
                 {"REPLICAS", Align::right},
                 {"RACK"},
                 {"HTTP"},
                 {"GENERATION", Align::right},
                 {"ID"}});
    for (const auto& [name, each] : by_name(list(reply, "members"), "name")) {
        const json::value& member = *each;
        const bool is_self = !at(reply, "self").is_null() && at(member, "id") == at(reply, "self");
        table.add_row({name + (is_self ? " *" : ""), member_state(member), duration(member, "since_seconds"),
                       ready_of(member), text(member, "rack"), text(member, "http"), text(member, "generation"),
                       text(member, "id")});
    }
    return table.render(style) + "\n* the peer that was asked\n";
}

std::string alarm_text(std::string_view alarm) {
    if (alarm == "losses_held")
        return "losses_held: more than a third of the peers are dead at once; see 'exaserve confirm-dead --help'";
    if (alarm == "udp_blocked") return "udp_blocked: peers answer over links only; does a firewall drop UDP?";
    if (alarm == "alone_with_seeds")
        return "alone_with_seeds: no seed and no member of before answers; this peer goes on asking";
    if (alarm == "seed_silent") return "seed_silent: a seed has not answered for two minutes";
    if (alarm == "waits_for_name")
        return "waits_for_name: another peer of this name does not answer; this peer takes the name when that one is "
               "declared dead";
    if (alarm == "pair_udp_blocked") return "pair_udp_blocked: datagrams do not pass between this peer and another";
    if (alarm == "pair_link_blocked") return "pair_link_blocked: no link can be opened between this peer and another";
    return std::string(alarm);
}

// What the alarms are about.
std::string channels_and_seeds_text(const json::value& reply) {
    std::string out;
    const json::value& holder = at(reply, "waits_for");
    if (!holder.is_null())
        out += line("waits for", text(holder, "name") + ", id " + text(holder, "id") + " at " + text(holder, "gossip"));
    for (const json::value& broken : list(reply, "broken_channels"))
        out += line("blocked", text(broken, "channel") + ", " + text(broken, "peer") + ", for " +
                                   duration(broken, "since_seconds"));
    for (const json::value& seed : list(reply, "seeds")) {
        if (text(seed, "state") == "answering") continue;
        std::string addresses;
        for (const json::value& address : list(seed, "addresses"))
            if (text(seed, "seed") != address.as_string()) addresses += " " + std::string(address.as_string());
        out +=
            line("seed",
                 text(seed, "seed") + " is " + text(seed, "state") +
                     (text(seed, "state") == "self" ? "" : ", last heard " + duration(seed, "heard_seconds") + " ago") +
                     (addresses.empty() ? "" : ":" + addresses));
    }
    return out;
}

std::string status_text(const json::value& reply, Style style) {
    const json::value& self = at(reply, "self");
    const json::value& peers = at(reply, "peers");
    const json::value& requests = at(reply, "requests");
    std::string counts = text(peers, "alive") + " alive";
    for (const char* liveness : {"suspect", "dead", "lost", "left"}) {
        if (number(peers, liveness) > 0) counts += ", " + text(peers, liveness) + " " + liveness;
    }
    std::string out;
    out += line("cluster", text(reply, "cluster"));
    out += line("peer", text(self, "name") + ", " + text(self, "state") + ", rack " + text(self, "rack") + ", " +
                            text(self, "http"));
    out += line("software", text(reply, "software") + ", up " + duration(reply, "uptime_seconds"));
    out += line("peers", counts);
    out += line("replicas", ready_of(reply) + " ready");
    out += line("requests", text(requests, "total") + " since its start, " + text(requests, "failed") + " failed, " +
                                text(requests, "in_flight") + " in flight");
    out += line("ignored", text(reply, "gossip_ignored") + " packets, " + text(reply, "links_refused") +
                               " links that were not ours");
    for (const json::value& alarm : list(reply, "alarms")) out += line("alarm", alarm_text(alarm.as_string()));
    out += channels_and_seeds_text(reply);
    const json::value& seal = at(reply, "seal");
    if (!seal.is_null())
        out += line("encrypted", at(seal, "encrypted") == true ? "with key " + text(seal, "primary") : "no");
    for (const json::value& alarm : list(seal, "alarms")) {
        const std::string key = at(alarm, "key").is_null() ? "" : " (" + text(alarm, "key") + ")";
        out += line("alarm", text(alarm, "name") + key + ": " + text(alarm, "packets") + " packets, the last " +
                                 duration(alarm, "last_seconds") + " ago from " + text(alarm, "from"));
    }
    const json::value& https = at(reply, "https");
    if (!https.is_null())
        out += line("https", text(https, "subject") + ", until " + date(number(https, "not_after_unix")));
    if (!at(https, "failure").is_null())
        out += line("alarm", "the new certificate is not used: " + text(https, "failure"));
    const json::value& api_keys = at(reply, "api_keys");
    if (!at(api_keys, "failure").is_null())
        out += line("alarm", "the file of API keys is not used, those of before are: " + text(api_keys, "failure"));
    if (at(seal, "stored") == false) out += line("alarm", "the key ring cannot be stored; see the log");
    if (list(reply, "models").empty()) return out;
    Table table({{"MODEL"}, {"READY", Align::right}});
    for (const json::value& model : list(reply, "models")) table.add_row({text(model, "model"), ready_of(model)});
    return out + "\n" + table.render(style);
}

std::string ring_text(const json::value& reply, Style style) {
    if (list(reply, "pools").empty()) return "no pool: no peer serves such a model\n";
    std::string out;
    for (const json::value& pool : list(reply, "pools")) {
        if (!out.empty()) out += "\n";
        out += "model " + text(pool, "model") + ", role " + text(pool, "role") + ", version " + text(pool, "version") +
               ", digest " + text(pool, "digest") + "\n";
        Table table({{"REPLICA"}, {"PEER"}, {"RACK"}, {"POINTS", Align::right}, {"SHARE", Align::right}});
        for (const auto& [peer_name, member] : by_name(list(pool, "members"), "peer_name"))
            table.add_row({text(*member, "replica"), peer_name, text(*member, "rack"), text(*member, "points"),
                           human_share(number(*member, "share"))});
        out += table.render(style);
    }
    return out;
}

std::string route_text(const json::value& reply, Style style) {
    std::string out;
    const bool has_session = !at(reply, "session").is_null();
    if (has_session) out += line("session", text(reply, "session") + " (" + text(reply, "position_source") + ")");
    out += line("model", text(reply, "model"));
    if (has_session) out += line("position", text(reply, "position"));
    if (has_session) out += line("ring owner", named(reply, at(reply, "owner")));
    if (!at(reply, "spilled_to").is_null()) out += line("spilled to", named(reply, at(reply, "spilled_to")));
    out += line("goes to", named(reply, at(reply, "replica")));
    out += line("because", text(reply, "reason"));
    if (list(reply, "candidates").empty()) return out;
    Table table({{""},
                 {"REPLICA"},
                 {"PEER"},
                 {"LOAD", Align::right},
                 {"BURDEN", Align::right},
                 {"BOUND", Align::right},
                 {"LIMIT", Align::right},
                 {"WAIT", Align::right},
                 {"SHARE", Align::right},
                 {"NEAR"},
                 {"STANDING"}});
    for (const json::value& candidate : list(reply, "candidates")) {
        const bool fits = at(candidate, "fits") != false;
        table.add_row({at(candidate, "chosen") == true ? ">" : "", text(candidate, "replica"),
                       text(candidate, "peer_name"), text(candidate, "load"),
                       fmt::format("{:.1f}", std::max(number(candidate, "load_score"), 0.0)), text(candidate, "bound"),
                       text(candidate, "limit"), text(candidate, "queued"),
                       human_share(number(candidate, "share_permille") / 1000), text(candidate, "distance"),
                       fits ? text(candidate, "eligibility") : "prompt too long"});
    }
    return out + "\n" + table.render(style);
}

std::string replicas_text(const json::value& reply, Style style) {
    Table table({{"REPLICA"},
                 {"PEER"},
                 {"RACK"},
                 {"MODEL"},
                 {"STATE"},
                 {"IN FLIGHT", Align::right},
                 {"QUEUED", Align::right},
                 {"KV USED", Align::right},
                 {"AGE", Align::right}});
    for (const auto& [peer_name, each] : by_name(list(reply, "replicas"), "peer_name")) {
        const json::value& replica = *each;
        const json::value& load = at(replica, "load");
        const double kv_used = number(load, "kv_used_permille");
        // What the replica admits at present; its record has the most that it ever will.
        const double limit_now = number(load, "in_flight_limit");
        const double age = number(load, "age_seconds");
        const std::string liveness = text(replica, "liveness");
        table.add_row({text(replica, "id"), peer_name, text(replica, "rack"), text(replica, "model"),
                       liveness == "alive" ? text(replica, "state") : "peer " + liveness,
                       text(load, "in_flight") + "/" + text(limit_now > 0 ? load : replica, "in_flight_limit"),
                       text(load, "queued_tokens"), kv_used < 0 ? "-" : human_share(kv_used / 1000),
                       age < 0 ? "-" : human_seconds(age)});
    }
    return table.render(style);
}

std::string keys_text(const json::value& reply, Style style) {
    if (at(reply, "encrypted") == false) return "not encrypted: peers exchange plaintext\n";
    const std::string peers = std::to_string(list(reply, "peers").size());
    Table table({{"KEY"}, {"HELD BY", Align::right}, {"USED BY", Align::right}, {"MISSING ON"}});
    for (const json::value& key : list(reply, "keys")) {
        std::string missing;
        for (const json::value& name : list(key, "missing_on")) missing += (missing.empty() ? "" : ", ") + text(name);
        table.add_row({text(key, "id") + (at(key, "primary") == true ? " *" : ""), text(key, "held_by") + "/" + peers,
                       text(key, "used_by") + "/" + peers, missing.empty() ? "-" : missing});
    }
    return table.render(style) + "\n* the key that the asked peer encrypts with\n";
}

std::string field_text(const json::value& reply, std::string_view name) {
    return text(reply, name);
}

std::string cold_text(const json::value& cold, const json::value& disk) {
    const double share = number(cold, "share_bytes");
    std::string state = text(cold, "files") + " segments, " + human_bytes(number(cold, "bytes")) +
                        (share > 0 ? " of " + human_bytes(share) : "") + " in this peer's care";
    if (text(cold, "closed_off") == "true")
        state = "closed off: " + text(cold, "trouble");
    else if (text(cold, "full") == "true")
        state += "; full";
    return line("shared", state) +
           line("  read", text(cold, "reads") + " segments, " + human_bytes(number(cold, "read_bytes")) + ", " +
                              human_bytes(number(cold, "bytes_per_s")) + "/s of late; " + text(cold, "declined") +
                              " sooner computed, " + text(cold, "refused") + " not asked for, " +
                              text(cold, "corrupt") + " that did not verify") +
           line("  written", text(cold, "written") + " segments, " + human_bytes(number(cold, "written_bytes")) + ", " +
                                 text(cold, "present") + " were there, " + text(disk, "unpersisted") +
                                 " left the disk unwritten; " + text(cold, "evicted") + " removed for room") +
           line("  errors",
                text(cold, "errors") + (text(cold, "trouble").empty() ? "" : ", the last: " + text(cold, "trouble")));
}

namespace {

std::string quota_bound(const json::value& reply) {
    if (number(reply, "gib") <= 0) return "no bound but kv.capacity_gib";
    return "at most " + text(reply, "gib") + " GiB, by " +
           (at(reply, "set") == true ? "a command, until the peer ends" : "kv.tenant_quota_gib");
}

}  // namespace

std::string kv_quota_text(const json::value& reply) {
    return "the tenant's segments take " + human_bytes(std::max(number(reply, "bytes"), 0.0)) +
           " of this peer's disk; " + quota_bound(reply) + "\n";
}

std::string kv_quotas_text(const json::value& reply, Style style) {
    const std::string others =
        number(reply, "gib") > 0 ? "at most " + text(reply, "gib") + " GiB each" : "no bound but kv.capacity_gib";
    Table table({{"TENANT"}, {"TAKES", Align::right}, {"GIB", Align::right}});
    for (const json::value& tenant : list(reply, "tenants")) {
        const std::string name = text(tenant, "tenant");
        table.add_row({name.empty() ? "(anonymous)" : name, human_bytes(std::max(number(tenant, "bytes"), 0.0)),
                       text(tenant, "gib")});
    }
    if (list(reply, "tenants").empty()) return "no tenant was given a quota of its own; all have " + others + "\n";
    return table.render(style) + "\nAll others: " + others + " (kv.tenant_quota_gib)\n";
}

std::string kv_text(const json::value& reply, Style) {
    if (text(reply, "enabled") != "true") return "this peer keeps no KV outside its replicas (kv.enabled is false)\n";
    const auto held = [](const json::value& tier, std::string_view bytes) {
        return text(tier, "segments") + " segments, " + human_bytes(number(tier, bytes));
    };
    const json::value& hits = at(reply, "hits");
    const json::value& disk = at(reply, "disk");
    std::string out =
        line("memory", held(at(reply, "memory"), "bytes")) +
        line("disk", disk.is_null()
                         ? "none"
                         : held(disk, "physical_bytes") + " of " + human_bytes(number(disk, "capacity_bytes"))) +
        line("to be stored", held(at(reply, "queue"), "bytes")) +
        line("finished", text(reply, "finished") + " by replicas, " + text(reply, "dropped") + " dropped, " +
                             text(reply, "refused") + " refused by the disk") +
        line("looked for", text(reply, "loads") + " prompts, " + text(reply, "misses") + " of them not to their end") +
        line("found", text(hits, "memory") + " in memory, " + text(hits, "disk") + " on disk, " + text(hits, "peers") +
                          " at peers, " + text(hits, "cold") + " in the shared directory");
    const json::value& peers = at(reply, "peers");
    if (!peers.is_null()) {
        const json::value& repair = at(peers, "repair");
        out += line("at owners", text(peers, "converged") == "true"
                                     ? "all that is on disk, as far as they are in reach"
                                     : text(peers, "waiting") + " segments wait for a peer to take them");
        out += line("given", text(peers, "held") + " segments, " + text(peers, "refused") + " refused, " +
                                 text(peers, "dropped") + " left to the next repair");
        out += line("taken", text(peers, "fetched") + " segments, " + human_bytes(number(peers, "fetched_bytes")) +
                                 ", " + text(peers, "corrupt") + " that did not verify");
        out += line("repair", std::string(text(repair, "running") == "true" ? "running" : "at rest") + ", " +
                                  text(repair, "passes") + " passes ended; " + text(repair, "looked_at") +
                                  " segments looked at, " + text(repair, "offered") + " offered in the latest");
    }
    if (const json::value& cold = at(reply, "cold"); !cold.is_null()) out += cold_text(cold, disk);
    if (disk.is_null()) return out;
    const json::value& scrub = at(reply, "scrub");
    out += line("verified", text(scrub, "checked") + " on disk, " + text(scrub, "rounds") + " rounds; " +
                                text(scrub, "dropped") + " bad, " + text(scrub, "recovered") + " came back from peers");
    return out +
           line("gone from disk", text(disk, "evicted") + " for room, " + text(disk, "expired") + " unused, " +
                                      text(disk, "corrupt") + " that did not verify") +
           line("disk errors", text(disk, "errors"));
}

}  // namespace exa::cli
