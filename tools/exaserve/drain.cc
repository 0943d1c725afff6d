#include "exaserve/drain.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/outcome/try.hpp>
#include <chrono>
#include <string>
#include <thread>

#include "exaserve/cluster_client.h"
#include "exaserve/describe.h"
#include "exaserve/exit_code.h"
#include "exaserve/progress.h"
#include "exaserve/show.h"

namespace exa::cli {

namespace {

namespace json = boost::json;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds poll_interval{200};
// Behind the drain: answers that go on elsewhere, the door, telling the cluster.
constexpr std::chrono::seconds left_margin{20};

std::string field_of(const Outcome<json::value>& reply, std::string_view part, std::string_view name) {
    const auto* object = reply ? reply.value().if_object() : nullptr;
    const auto* found = object == nullptr ? nullptr : object->if_contains(part);
    return found == nullptr ? "-" : field_text(*found, name);
}

// "3 requests in flight, 120 segments to hand over"; its gateway closes before it has left.
std::string still_to_do(const ClusterPeer& peer) {
    const std::string requests = field_of(peer.client.get("status"), "requests", "in_flight");
    if (requests == "-") return "its gateway is closed";
    const std::string segments = field_of(peer.client.get("kv"), "peers", "waiting");
    return requests + " requests in flight" + (segments == "-" ? "" : ", " + segments + " segments to hand over");
}

bool has_left(const ClusterClient& cluster, const ClusterPeer& peer) {
    if (cluster.self().id == peer.id) return !peer.client.is_reachable();
    const auto liveness = cluster.liveness_of(peer.id);
    return liveness && liveness.value() != "alive" && liveness.value() != "suspect";
}

}  // namespace

void describe(CLI::App& command, DrainOptions& options) {
    command.add_option("peer", options.name, "Name or id of the peer to drain; default: the peer that is asked")
        ->type_name("NAME");
    add_target(command, options.target);
    command.footer(
        "Does what leave does, for any peer of the cluster, and shows progress: its replicas admit nothing new, "
        "running "
        "answers finish, its KV cache goes to the new owners, the gateway closes, the process ends. No request "
        "fails.\n\nExample:\n  exaserve drain peer-2");
}

Outcome<std::string> ask(const DrainOptions& options, Style) {
    BOOST_OUTCOME_TRY(const auto cluster, ClusterClient::open(options.target));
    const ClusterPeer* peer = &cluster.self();
    if (!options.name.empty()) {
        BOOST_OUTCOME_TRY(peer, cluster.find(options.name));
    }
    const auto begun = Clock::now();
    BOOST_OUTCOME_TRY(const auto reply, peer->client.post("leave", json::object{}));
    const auto* drain = reply.is_object() ? reply.get_object().if_contains("drain_seconds") : nullptr;
    const std::chrono::seconds limit(drain != nullptr && drain->is_int64() ? drain->get_int64() : 0);
    Progress progress;
    while (!has_left(cluster, *peer)) {
        if (Clock::now() - begun > limit + left_margin) {
            progress.end();
            return Failure{exit_failed, printable(peer->name) + " has not left after its " +
                                            human_seconds(static_cast<double>(limit.count())) + " to drain"};
        }
        progress.show(printable(peer->name) + " drains: " + still_to_do(*peer));
        std::this_thread::sleep_for(poll_interval);
    }
    progress.end();
    const double seconds = std::chrono::duration<double>(Clock::now() - begun).count();
    if (options.target.json)
        return json::serialize(json::object{{"id", peer->id}, {"name", peer->name}, {"seconds", seconds}}) + "\n";
    return printable(peer->name) + " has left after " + human_seconds(seconds) + "\n";
}

}  // namespace exa::cli
