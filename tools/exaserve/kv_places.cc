#include "exaserve/kv_places.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value_from.hpp>
#include <boost/outcome/try.hpp>
#include <functional>
#include <set>
#include <span>
#include <utility>

#include "exaserve/exit_code.h"
#include "exaserve/input.h"
#include "exaserve/show.h"

namespace exa::cli {

namespace {

namespace json = boost::json;

// Of one order to a peer.
constexpr std::size_t keys_at_once = 4096;

const json::array& segments_of(const json::value& reply) {
    static const json::array none;
    const auto* object = reply.if_object();
    const auto* segments = object == nullptr ? nullptr : object->if_contains("segments");
    return segments != nullptr && segments->is_array() ? segments->get_array() : none;
}

bool is_on_disk(const json::value& segment) {
    return field_text(segment, "disk") != "-";
}

bool is_value(const json::value& segment) {
    return is_on_disk(segment) && field_text(segment.at("disk"), "kind") != "segment";
}

// Calls `take` with every segment of the answers.
Outcome<void> locate(const ClusterPeer& peer, const std::vector<std::string>& keys,
                     const std::function<void(const json::value&)>& take) {
    for (std::size_t from = 0; from < keys.size(); from += keys_at_once) {
        json::array asked;
        for (const std::string& key : std::span(keys).subspan(from, std::min(keys_at_once, keys.size() - from)))
            asked.emplace_back(key);
        BOOST_OUTCOME_TRY(const auto reply,
                          peer.client.post("kv", json::object{{"action", "locate"}, {"keys", std::move(asked)}}));
        for (const json::value& segment : segments_of(reply)) take(segment);
    }
    return boost::outcome_v2::success();
}

// All parts of it, each key once: sessions share what they begin with.
Outcome<std::vector<std::string>> whole_answer(const ClusterPeer& peer, json::object order) {
    std::vector<std::string> keys;
    std::set<std::string> seen;
    while (true) {
        BOOST_OUTCOME_TRY(const auto reply, peer.client.post("kv", order));
        for (const json::value& segment : segments_of(reply))
            if (auto key = field_text(segment, "key"); seen.insert(key).second) keys.push_back(std::move(key));
        const std::string next = field_text(reply, "next");
        if (next == "-" || segments_of(reply).empty()) return keys;
        order["after"] = next;
    }
}

// Of all answers the longest: a peer that answered a session's earlier turns knows less of it.
Outcome<std::vector<std::string>> longest_answer(const ClusterClient& cluster, const json::object& order,
                                                 const std::string& unknown) {
    std::vector<std::string> best;
    std::optional<Failure> refused;
    for (const ClusterPeer* peer : cluster.alive()) {
        auto keys = whole_answer(*peer, order);
        if (!keys)
            refused = keys.error();
        else if (keys.value().size() > best.size())
            best = std::move(keys).value();
    }
    if (!best.empty()) return best;
    if (refused) return *refused;
    return Failure{exit_refused, unknown};
}

}  // namespace

bool KvPlaces::has_value() const {
    return std::ranges::any_of(where,
                               [](const auto& one) { return std::ranges::any_of(one.second, &KvPlace::is_value); });
}

bool KvPlaces::on_disk(const std::string& key, const ClusterPeer& peer) const {
    const auto places = where.find(key);
    return places != where.end() && std::ranges::any_of(places->second, [&peer](const KvPlace& place) {
               return place.peer->id == peer.id && place.disk;
           });
}

const ClusterPeer* KvPlaces::holder(const std::string& key) const {
    const auto places = where.find(key);
    if (places == where.end()) return nullptr;
    const auto holds = std::ranges::find(places->second, true, &KvPlace::disk);
    return holds == places->second.end() ? nullptr : holds->peer;
}

Outcome<std::vector<std::string>> find_keys(const ClusterClient& cluster, const KvOptions& options) {
    if (!options.key.empty()) return std::vector{options.key};
    json::object order{{"action", "locate"}};
    if (!options.session.empty()) {
        // What a tenant had stays when it may not ask any more.
        const Query query{
            {"session", options.session}, {"tenant", options.tenant}, {"model", options.model}, {"unchecked", "true"}};
        BOOST_OUTCOME_TRY(const auto route, cluster.self().client.get("route", query));
        order["session"] = field_text(route, "position");
        return longest_answer(cluster, order, "no peer has answered session '" + options.session + "' recently");
    }
    if (!options.replica.empty()) {
        order["replica"] = options.replica;
        return longest_answer(cluster, order, "replica " + options.replica + " has answered no session recently");
    }
    BOOST_OUTCOME_TRY(const auto text, read_input(options.file));
    json::error_code broken;
    order["request"] = json::parse(text, broken);
    if (broken) return Failure{exit_usage, options.file + ": no JSON"};
    order["tenant"] = options.tenant;
    return longest_answer(cluster, order, "the request fills no segment");
}

KvPlaces find_places(const ClusterClient& cluster, std::vector<std::string> keys) {
    KvPlaces places{std::move(keys), {}, {}};
    for (const ClusterPeer* peer : cluster.alive()) {
        const auto asked = locate(*peer, places.keys, [&](const json::value& segment) {
            const KvPlace place{peer, field_text(segment, "memory") == "true", is_on_disk(segment), is_value(segment)};
            if (place.memory || place.disk) places.where[field_text(segment, "key")].push_back(place);
        });
        if (!asked) places.silent.push_back(peer->name);
    }
    return places;
}

Outcome<std::vector<std::string>> keys_on_disk(const ClusterPeer& peer, const std::vector<std::string>& keys) {
    std::vector<std::string> found;
    BOOST_OUTCOME_TRY(locate(peer, keys, [&found](const json::value& segment) {
        if (is_on_disk(segment)) found.push_back(field_text(segment, "key"));
    }));
    return found;
}

std::string places_json(const KvPlaces& places) {
    json::array segments;
    for (const std::string& key : places.keys) {
        json::array peers;
        if (const auto found = places.where.find(key); found != places.where.end())
            for (const KvPlace& place : found->second)
                peers.push_back(json::object{{"id", place.peer->id},
                                             {"name", place.peer->name},
                                             {"memory", place.memory},
                                             {"disk", place.disk}});
        segments.push_back(json::object{{"key", key}, {"peers", std::move(peers)}});
    }
    return json::serialize(
               json::object{{"segments", std::move(segments)}, {"silent", json::value_from(places.silent)}}) +
           "\n";
}

std::string places_text(const KvPlaces& places, Style style) {
    Table table({{"SEGMENT", Align::right}, {"ON DISK OF"}, {"IN MEMORY OF"}, {"KEY"}});
    for (std::size_t i = 0; i < places.keys.size(); ++i) {
        std::string disk;
        std::string memory;
        if (const auto found = places.where.find(places.keys[i]); found != places.where.end())
            for (const KvPlace& place : found->second) {
                if (place.disk) disk += (disk.empty() ? "" : ", ") + place.peer->name;
                if (place.memory) memory += (memory.empty() ? "" : ", ") + place.peer->name;
            }
        table.add_row({std::to_string(i), disk.empty() ? "-" : disk, memory.empty() ? "-" : memory, places.keys[i]});
    }
    std::string text = table.render(style);
    for (const std::string& name : places.silent) text += "peer " + printable(name) + " did not answer\n";
    return text;
}

}  // namespace exa::cli
