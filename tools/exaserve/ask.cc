#include "exaserve/ask.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/outcome/try.hpp>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <iterator>
#include <set>
#include <thread>

#include "base/base64.h"
#include "base/hash.h"
#include "exaserve/admin_client.h"
#include "exaserve/exit_code.h"
#include "exaserve/input.h"
#include "exaserve/key.h"
#include "exaserve/show.h"
#include "openai/scan.h"
#include "openai/session.h"

namespace exa::cli {

namespace {

namespace json = boost::json;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds gone_poll_interval{100};
constexpr std::chrono::milliseconds join_poll_interval{100};
constexpr std::chrono::seconds join_limit{10};
// Behind the drain: answers that go on elsewhere, the door, telling the cluster.
constexpr std::chrono::seconds gone_margin{20};

AdminClient client_of(const Target& target, Duration idle_timeout = std::chrono::seconds(10)) {
    return AdminClient(target.url, target.admin_key, idle_timeout, target.ca_file);
}

using Show = std::string (*)(const json::value& reply, Style style);

Outcome<std::string> get_and_show(const Target& target, std::string_view path, const Query& query, Style style,
                                  Show show) {
    BOOST_OUTCOME_TRY(const auto reply, client_of(target).get(path, query));
    return target.json ? json::serialize(reply) + "\n" : show(reply, style);
}

// The prompt stays here: what an entry would make of it is told.
Outcome<Query> route_query(const RouteOptions& options) {
    Query query{{"tenant", options.tenant}, {"priority", options.priority}};
    std::string session = options.session;
    std::string model = options.model;
    std::string body;
    if (!options.prompt.empty()) body = json::serialize(json::object{{"prompt", options.prompt}});
    if (!options.request_file.empty()) {
        BOOST_OUTCOME_TRY(body, read_input(options.request_file));
    }
    if (!body.empty() || !options.request_file.empty()) {
        const auto scan = openai::scan(body);
        if (!scan) return Failure{exit_usage, "the request: " + scan.error().message};
        if (model.empty()) model = scan.value().model.text();
        if (session.empty()) session = openai::pick_session({}, scan.value()).id;
        const std::uint64_t prefix = hash64(as_bytes(scan.value().leading));
        query.push_back({"prefix", fmt::format("{:016x}", prefix)});
        query.push_back({"prompt_tokens", std::to_string(scan.value().prompt_tokens_estimate)});
    }
    query.push_back({"session", session});
    query.push_back({"model", model});
    return query;
}

// 0 when the reply does not say.
std::int64_t number_in(const json::value& reply, std::string_view name) {
    const auto* object = reply.if_object();
    const auto* number = object == nullptr ? nullptr : object->if_contains(name);
    return number != nullptr && number->is_int64() ? number->get_int64() : 0;
}

// Orders are given on the peer's own machine, so its process can be looked at. One that its parent has not yet fetched
// has ended.
bool is_running(pid_t process) {
    if (kill(process, 0) != 0 && errno == ESRCH) return false;
    std::ifstream file("/proc/" + std::to_string(process) + "/stat");
    const std::string stat{std::istreambuf_iterator<char>(file), {}};
    const std::size_t name_end = stat.rfind(") ");
    return name_end == std::string::npos || stat[name_end + 2] != 'Z';
}

bool wait_until_gone(pid_t process, std::chrono::seconds limit) {
    const auto deadline = Clock::now() + limit;
    while (is_running(process)) {
        if (Clock::now() > deadline) return false;
        std::this_thread::sleep_for(gone_poll_interval);
    }
    return true;
}

}  // namespace

Outcome<std::string> ask(const MembersOptions& options, Style style) {
    return get_and_show(options.target, "members", {}, style, members_text);
}

Outcome<std::string> ask(const StatusOptions& options, Style style) {
    return get_and_show(options.target, "status", {}, style, status_text);
}

Outcome<std::string> ask(const ReplicasOptions& options, Style style) {
    return get_and_show(options.target, "replicas", {}, style, replicas_text);
}

Outcome<std::string> ask(const RingOptions& options, Style style) {
    return get_and_show(options.target, "ring", {{"model", options.model}}, style, ring_text);
}

Outcome<std::string> ask(const RouteOptions& options, Style style) {
    BOOST_OUTCOME_TRY(const auto query, route_query(options));
    return get_and_show(options.target, "route", query, style, route_text);
}

namespace {

// The keys to add, as JSON bodies; without a file one that the peer makes.
Outcome<std::vector<json::object>> additions(const KeysOptions& options) {
    if (options.file.empty()) return std::vector{json::object{{"action", "add"}}};
    BOOST_OUTCOME_TRY(const auto keys, read_keys(options.file));
    std::vector<json::object> bodies;
    for (const ClusterKey& key : keys) bodies.push_back({{"action", "add"}, {"secret", to_base64(key.secret)}});
    return bodies;
}

std::string changed_text(KeysAction action, const json::value& reply, const Target& target) {
    const std::string list = "'exaserve keys list" + flags_of(target) + "'";
    const std::string id = field_text(reply, "id");
    const std::string warning = field_text(reply, "warning");
    const std::string warned = warning == "-" ? "" : "warning: insisted although " + warning + "\n";
    if (action == KeysAction::add)
        return warned + "added " + id + "; when " + list + " shows it on every peer, go on with 'exaserve keys use " +
               id + flags_of(target) + "'\n";
    if (action == KeysAction::use) return warned + "peers seal with " + id + " from now on; see " + list + "\n";
    return warned + "removed " + id + "\n";
}

}  // namespace

Outcome<std::string> ask(const KeysOptions& options, Style style) {
    if (options.action == KeysAction::generate) return options.target.json ? fresh_key_json() : fresh_key();
    if (options.action == KeysAction::list) return get_and_show(options.target, "keys", {}, style, keys_text);
    std::vector<json::object> bodies;
    if (options.action == KeysAction::add) {
        BOOST_OUTCOME_TRY(bodies, additions(options));
    } else {
        bodies.push_back({{"action", options.action == KeysAction::use ? "use" : "remove"},
                          {"id", options.id},
                          {"force", options.force}});
    }
    std::string text;
    for (const json::object& body : bodies) {
        BOOST_OUTCOME_TRY(const auto reply, client_of(options.target).post("keys", body));
        text +=
            options.target.json ? json::serialize(reply) + "\n" : changed_text(options.action, reply, options.target);
    }
    return text;
}

namespace {

// Of the peers that are alive, but for the one that was asked.
struct Others {
    std::string cluster;
    std::set<std::string> ids;
    std::set<std::string> gossip;

    bool came_after(const Others& before, const std::vector<std::string>& seeds) const {
        return std::ranges::any_of(ids, [&](const std::string& id) { return !before.ids.contains(id); }) ||
               std::ranges::any_of(seeds, [&](const std::string& seed) { return gossip.contains(seed); });
    }
};

Outcome<Others> others_of(const AdminClient& client) {
    BOOST_OUTCOME_TRY(const auto reply, client.get("members"));
    Others others{field_text(reply, "cluster"), {}, {}};
    const std::string self = field_text(reply, "self");
    const auto* const members = reply.get_object().at("members").if_array();
    if (members == nullptr) return others;
    for (const json::value& member : *members) {
        const std::string id = field_text(member, "id");
        if (id == self || field_text(member, "liveness") != "alive") continue;
        others.ids.insert(id);
        others.gossip.insert(field_text(member, "gossip"));
    }
    return others;
}

Outcome<void> wait_until_joined(const AdminClient& client, const Others& before, const JoinOptions& options) {
    const auto deadline = Clock::now() + join_limit;
    while (true) {
        BOOST_OUTCOME_TRY(const Others now, others_of(client));
        if (now.came_after(before, options.seeds)) return boost::outcome_v2::success();
        if (Clock::now() > deadline)
            return Failure{exit_failed,
                           "no seed has answered the peer at " + options.target.url + " in " +
                               std::to_string(join_limit.count()) +
                               " seconds: it is down, out of reach from there, of a cluster with another name than '" +
                               now.cluster +
                               "', or sealed with other keys. The peer goes on asking; see its log, and "
                               "that of the seed"};
        std::this_thread::sleep_for(join_poll_interval);
    }
}

}  // namespace

Outcome<std::string> ask(const JoinOptions& options, Style) {
    const json::object body{{"seeds", json::array(options.seeds.begin(), options.seeds.end())}};
    const AdminClient client = client_of(options.target);
    BOOST_OUTCOME_TRY(const Others before, others_of(client));
    BOOST_OUTCOME_TRY(const auto reply, client.post("join", body));
    if (options.wait) {
        BOOST_OUTCOME_TRY(wait_until_joined(client, before, options));
    }
    if (options.target.json) return json::serialize(reply) + "\n";
    if (options.wait) return "joined; see 'exaserve members" + flags_of(options.target) + "'\n";
    return "the peer asks " + std::to_string(options.seeds.size()) + " seeds from now on; see 'exaserve members" +
           flags_of(options.target) + "'\n";
}

Outcome<std::string> ask(const ConfirmDeadOptions& options, Style) {
    BOOST_OUTCOME_TRY(const auto reply, client_of(options.target).post("confirm-dead", json::object{}));
    if (options.target.json) return json::serialize(reply) + "\n";
    if (field_text(reply, "held") != "true") return std::string("no losses are held at this peer; nothing changed\n");
    return "the " + std::to_string(number_in(reply, "dead")) +
           " dead peers become lost; every peer decides so for itself, so tell the others too\n";
}

Outcome<std::string> ask(const LeaveOptions& options, Style) {
    const AdminClient client = client_of(options.target, std::chrono::seconds(2));
    BOOST_OUTCOME_TRY(const auto reply, client.post("leave", json::object{}));
    const std::chrono::seconds drain(number_in(reply, "drain_seconds"));
    const auto process = static_cast<pid_t>(number_in(reply, "pid"));
    if (options.wait && process > 0 && !wait_until_gone(process, drain + gone_margin))
        return Failure{exit_failed, "the peer at " + options.target.url + " still runs after its " +
                                        human_seconds(static_cast<double>(drain.count())) + " to drain"};
    if (options.target.json) return json::serialize(reply) + "\n";
    return options.wait ? "left\n" : "leaving; it ends when its running answers have\n";
}

}  // namespace exa::cli
