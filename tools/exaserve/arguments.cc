#include "exaserve/arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <sstream>

#include "exaserve/describe.h"
#include "exaserve/exit_code.h"
#include "exaserve/version.h"

namespace exa::cli {

namespace {

constexpr const char* about =
    "ExaServe: an LLM-serving cluster with no head node.\n\n"
    "Every node runs a peer. A client may talk to any of them: each answers OpenAI-compatible HTTP and routes a "
    "request "
    "to the best replica of the cluster.";

constexpr const char* footer =
    "Start here:\n"
    "  exaserve up                        start three peers on this machine, until Ctrl-C\n"
    "  exaserve members                   list the peers\n"
    "  exaserve route --session alice     explain where a session goes\n"
    "  exaserve peer --help               run one peer on a real network\n"
    "  exaserve bench                     load a server, measure latency and throughput\n\n"
    "Exit codes:\n"
    "  0  done\n"
    "  1  failed for a reason that is not listed below\n"
    "  2  wrong usage, a wrong configuration key, or an unusable model file\n"
    "  3  a port is taken, or an address does not belong to this machine\n"
    "  4  no peer answers at the URL\n"
    "  5  the peer answered with an error\n"
    "  6  the data directory is in use by another process, or cannot be written\n"
    "  7  another peer of the cluster has this peer's id or name\n\n"
    "Environment:\n"
    "  EXASERVE_PEER    URL for --peer, and for --target of bench\n"
    "  EXASERVE_ADMIN_KEY  for --admin-key\n"
    "  EXASERVE_CA_FILE file for --ca-file\n"
    "  EXASERVE_API_KEY the key that bench sends\n"
    "  NO_COLOR         tables without colors\n"
    "  XDG_CACHE_HOME   exaserve/models below it holds the default model (default ~/.cache)\n"
    "  XDG_STATE_HOME   exaserve below it holds peers' data directories (default ~/.local/state)";

// One of the variant's alternatives filled by its subcommand.
template <class Options>
void add_command(CLI::App& app, Command& chosen, const char* name, const char* help) {
    auto options = std::make_shared<Options>();
    CLI::App* command = app.add_subcommand(name, help);
    describe(*command, *options);
    command->callback([&chosen, options] { chosen = *options; });
}

// What to say when the arguments begin with a command that there is not; empty otherwise.
std::string unknown_command(const CLI::App& app, int argc, const char* const* argv) {
    const CLI::App* at = &app;
    for (int i = 1; i < argc && !at->get_subcommands({}).empty() && argv[i][0] != '-'; ++i) {
        const auto commands = at->get_subcommands([](const CLI::App* sub) { return !sub->get_name().empty(); });
        const auto named = std::ranges::find(commands, argv[i], &CLI::App::get_name);
        if (named == commands.end()) {
            std::string text = std::string("There is no command '") + argv[i] + "'; there are";
            for (const CLI::App* one : commands) text += (one == commands.front() ? " " : ", ") + one->get_name();
            return text + ".\n";
        }
        at = *named;
    }
    return {};
}

}  // namespace

std::string flags_of(const Target& target) {
    std::string flags = " --peer " + target.url;
    if (!target.ca_file.empty()) flags += " --ca-file " + target.ca_file;
    return flags;
}

std::variant<Command, NoCommand> parse_arguments(int argc, const char* const* argv) {
    CLI::App app(about, "exaserve");
    app.footer(footer);
    app.require_subcommand(1);
    app.set_version_flag("--version", "exaserve " + std::string(version));
    app.get_formatter()->column_width(34);

    Command chosen;
    add_command<UpOptions>(app, chosen, "up", "Start a cluster on this machine");
    add_command<PeerOptions>(app, chosen, "peer", "Run one peer");
    add_command<JoinOptions>(app, chosen, "join", "Tell a peer to join a cluster");
    add_command<LeaveOptions>(app, chosen, "leave", "Drain the peer on this machine and end it; no request fails");
    add_command<DrainOptions>(app, chosen, "drain",
                              "Drain any peer of the cluster and show progress; no request fails");
    add_command<ConfirmDeadOptions>(app, chosen, "confirm-dead",
                                    "Confirm that the many peers that look dead are gone, not cut off");
    add_command<MembersOptions>(app, chosen, "members", "List the peers of the cluster as one of them sees it");
    add_command<StatusOptions>(app, chosen, "status", "Show the health and alarms of one peer");
    add_command<ReplicasOptions>(app, chosen, "replicas", "List the replicas of the cluster, their state and load");
    add_command<RingOptions>(app, chosen, "ring",
                             "Show the consistent-hash rings and their digests, equal on every peer");
    add_command<RouteOptions>(app, chosen, "route", "Explain which replica a session or request goes to");
    add_command<KvOptions>(app, chosen, "kv", "Inspect, move and repair the KV cache of a peer or of the cluster");
    add_command<KeysOptions>(app, chosen, "keys", "List and rotate the keys that encrypt gossip and links");
    add_command<ApiKeysOptions>(app, chosen, "apikeys", "Create, list and revoke API keys of clients and operators");
    add_command<ConfigOptions>(app, chosen, "config", "Show a peer's configuration, and reload it while it runs");
    add_command<BenchOptions>(app, chosen, "bench", "Load a server and measure latency and throughput");

    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        std::ostringstream output;
        std::ostringstream errors;
        const bool asked = app.exit(error, output, errors) == 0;
        if (!asked) errors << unknown_command(app, argc, argv);
        return NoCommand{asked ? exit_ok : exit_usage, output.str(), errors.str()};
    }
    return chosen;
}

}  // namespace exa::cli
