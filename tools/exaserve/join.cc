// exaserve join: tells a peer whom to ask, and waits until somebody has answered.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/outcome/try.hpp>
#include <chrono>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "exaserve/ask.h"
#include "exaserve/describe.h"
#include "exaserve/exit_code.h"
#include "exaserve/show.h"

namespace exa::cli {

namespace {

namespace json = boost::json;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds join_poll_interval{100};
constexpr std::chrono::seconds join_limit{10};

// The peers that are alive, except the one that was asked.
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
            return Failure{
                exit_failed,
                "no seed has answered the peer at " + options.target.url + " in " + std::to_string(join_limit.count()) +
                    " seconds: they are down, out of reach from there, in a cluster with another name than '" +
                    now.cluster +
                    "', or encrypt with other keys. The peer keeps asking; see its log and the log of a seed"};
        std::this_thread::sleep_for(join_poll_interval);
    }
}

}  // namespace

void describe(CLI::App& command, JoinOptions& options) {
    add_target(command, options.target);
    command.add_option("seeds", options.seeds, "Gossip addresses of peers in the cluster to join")
        ->type_name("HOST:PORT...")
        ->required();
    command.footer(
        "Example:\n  exaserve join --peer http://127.0.0.1:8000 10.0.0.1:7946 10.0.0.2:7946\n\n"
        "The peer asks these seeds, and those of its configuration, until one answers. The command returns when the "
        "peer "
        "sees a new peer or one of the seeds. It fails with exit code 1 after ten seconds without either: seeds of a "
        "cluster with another name or other keys do not answer.");
    command.add_flag("!--no-wait", options.wait, "Return at once, not after a seed has answered");
}

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
    return "the peer now asks " + std::to_string(options.seeds.size()) + " seeds; see 'exaserve members" +
           flags_of(options.target) + "'\n";
}

}  // namespace exa::cli
