#include "exaserve/arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <sstream>

#include "app/config/options.h"
#include "exaserve/exit_code.h"
#include "exaserve/plan.h"
#include "exaserve/version.h"
#include "kv/segment_key.h"

namespace exa::cli {

namespace {

constexpr const char* about =
    "ExaServe: an LLM-serving cluster with no head node.\n\n"
    "Every node runs a peer. A client may talk to any of them: each answers OpenAI-compatible HTTP and routes a "
    "request "
    "to the best replica of the cluster.";

constexpr const char* footer =
    "Start here:\n"
    "  exaserve up                        a cluster of three peers on this machine, until Ctrl-C\n"
    "  exaserve members                   who is in it\n"
    "  exaserve route --session alice     where a session goes, and why\n"
    "  exaserve peer --help               one peer on a real network\n"
    "  exaserve bench                     load on a server, and what it does with it\n\n"
    "Exit codes:\n"
    "  0  done\n"
    "  1  failed for a reason not below\n"
    "  2  wrong usage, a wrong configuration key, or a model file that cannot be used\n"
    "  3  a port is taken, or an address is not of this machine\n"
    "  4  no peer answers at the URL\n"
    "  5  the peer answered with an error\n"
    "  6  the data directory is in use by another process, or cannot be written\n"
    "  7  the cluster knows this peer's id or name as somebody else's\n\n"
    "Environment:\n"
    "  EXASERVE_PEER    URL for --peer, and for --target of bench\n"
    "  EXASERVE_ADMIN_KEY  for --admin-key\n"
    "  EXASERVE_CA_FILE file for --ca-file\n"
    "  EXASERVE_API_KEY the key that bench sends\n"
    "  NO_COLOR         tables without colors\n"
    "  XDG_CACHE_HOME   exaserve/models below it holds the default model (default ~/.cache)\n"
    "  XDG_STATE_HOME   exaserve below it holds peers' data directories (default ~/.local/state)";

constexpr const char* up_footer =
    "Examples:\n"
    "  exaserve up\n"
    "  exaserve up --peers 5 --replicas 1 --racks 2 --base-port 9000\n"
    "  exaserve up --model llama.gguf --set model.in_flight_limit=16\n"
    "  exaserve up --peers 32 --replicas 12 --engine null\n\n"
    "With --base-port P, peer i (from 0) takes P+i for HTTP, P+100+i for links and P+200+i for gossip (P+1000+i and "
    "P+2000+i with more than 100 peers). Logs are "
    "RUN_DIR/peer-*.log. The exit code is that of the first peer that could not start.";

constexpr const char* peer_footer =
    "Example, the first peer of a cluster and one more:\n"
    "  exaserve peer --listen-http 0.0.0.0:8000 --listen-gossip 0.0.0.0:7946 --listen-link 0.0.0.0:7947 \\\n"
    "    --advertise-http 10.0.0.1:8000 --advertise-gossip 10.0.0.1:7946 --advertise-link 10.0.0.1:7947 \\\n"
    "    --security-cluster-key-file cluster.key --security-api-keys-file api-keys.toml\n"
    "  exaserve peer --config peer.toml --seeds 10.0.0.1:7946\n\n"
    "Every flag is also a key of the file: --listen-http is http in the table [listen]. Flags win. SIGTERM, SIGINT and "
    "'exaserve leave' let running answers finish before the peer ends; a second signal ends it at once.";

// A flag wins over the variable. (CLI11's own envname does not: it also fills the options of subcommands that were not
// chosen, and those of one command share what they fill.)
CLI::Option* add_from_environment(CLI::App& command, const char* flag, std::string& text, const char* variable,
                                  const std::string& help) {
    CLI::Option* const option = command.add_option(flag, text, help + " [" + variable + "]")->capture_default_str();
    if (const char* const set = std::getenv(variable); set != nullptr && *set != '\0') text = set;
    return option;
}

void add_admin_key(CLI::App& command, std::string& key) {
    add_from_environment(command, "--admin-key", key, "EXASERVE_ADMIN_KEY",
                         "An admin's API key, where peers have security.api_keys_file; better in the environment, "
                         "as others see arguments")
        ->type_name("KEY");
}

void add_target(CLI::App& command, Target& target) {
    add_from_environment(command, "--peer", target.url, "EXASERVE_PEER",
                         "URL of the peer to ask; any peer of the cluster will do")
        ->type_name("URL");
    add_admin_key(command, target.admin_key);
    add_from_environment(command, "--ca-file", target.ca_file, "EXASERVE_CA_FILE",
                         "Certificates to trust of an https peer, as PEM text; default: what the system trusts")
        ->type_name("FILE");
    command.add_flag("--json", target.json, "Print the peer's answer as JSON");
}

// One of the variant's alternatives filled by its subcommand.
template <class Options>
Options& add_command(CLI::App& app, Command& chosen, std::function<void(CLI::App&, Options&)> describe,
                     const char* name, const char* help) {
    auto options = std::make_shared<Options>();
    CLI::App* command = app.add_subcommand(name, help);
    describe(*command, *options);
    command->callback([&chosen, options] { chosen = *options; });
    return *options;
}

void describe_up(CLI::App& command, UpOptions& options) {
    command.add_option("--peers", options.peers, "Peers to start")
        ->check(CLI::Range(std::uint32_t{1}, peers_max))
        ->capture_default_str();
    command.add_option("--replicas", options.replicas, "Replicas of the model on each peer")
        ->check(CLI::Range(0, 64))
        ->capture_default_str();
    command.add_option("--racks", options.racks, "Virtual racks that the peers are spread over; default: one each")
        ->check(CLI::Range(std::uint32_t{1}, peers_max));
    command
        .add_option("--model", options.model,
                    "GGUF file of a Llama-family model; default: SmolLM2-135M-Instruct in the user's cache")
        ->type_name("FILE");
    command.add_option("--model-name", options.model_name, "Model name that clients ask for; default: the file's name")
        ->type_name("NAME");
    command
        .add_option("--engine", options.engine,
                    "Engine of the replicas: builtin, or null (no model, no compute; answers are noise)")
        ->check(CLI::IsMember({"builtin", "null"}))
        ->capture_default_str();
    command.add_option("--base-port", options.base_port, "HTTP port of the first peer; see below")
        ->check(CLI::Range(1, 65000))
        ->capture_default_str();
    command
        .add_option("--run-dir", options.run_dir,
                    "Directory for logs and data; default: $XDG_STATE_HOME/exaserve/up-PORT")
        ->type_name("DIR");
    command.add_option("--ready-file", options.ready_file, "File to make when every replica is ready")
        ->type_name("FILE");
    command.add_option("--wait", options.wait_seconds, "Seconds to wait for that")
        ->check(CLI::Range(1, 86400))
        ->capture_default_str();
    command.add_option("--drain-seconds", options.drain_seconds, "Seconds for running answers to finish at the end")
        ->check(CLI::Range(1, 3600))
        ->capture_default_str();
    command
        .add_option_function<std::vector<std::string>>(
            "--set",
            [&options](const std::vector<std::string>& settings) {
                for (const std::string& setting : settings) {
                    const std::size_t equals = setting.find('=');
                    if (equals == std::string::npos || equals == 0)
                        throw CLI::ValidationError("--set", "'" + setting + "' is not KEY=VALUE");
                    options.settings.emplace_back(setting.substr(0, equals), setting.substr(equals + 1));
                }
            },
            "A configuration key for every peer, as in 'exaserve peer --help'; may be repeated")
        ->type_name("KEY=VALUE")
        ->expected(1)
        ->take_all();
    add_admin_key(command, options.admin_key);
    command.add_flag("--sealed", options.sealed,
                     "Seal gossip and links, with RUN_DIR/cluster.key; it is made when it is not there");
    command.add_flag("--follow", options.follow, "Copy the peers' logs to standard error, each line with its peer");
    command.add_flag("--json", options.json, "Print one line of JSON when ready, instead of text");
    command.footer(up_footer);
}

void describe_peer(CLI::App& command, PeerOptions& options) {
    command.add_option("--config", options.config_file, "TOML file with the keys below")->type_name("FILE");
    command.add_flag_callback(
        "--json", [&options] { options.settings.emplace_back("log.format", "json"); }, "The same as --log-format json");
    for (const app::PeerOption& option : app::peer_options()) {
        const auto dot = option.name.find('.');
        command
            .add_option_function<std::string>(
                flag_of(option.name),
                [&options, name = option.name](const std::string& value) {
                    options.settings.emplace_back(name, value);
                },
                describe(option))
            ->type_name(option.placeholder)
            ->group(dot == option.name.npos ? "Options" : "Table [" + option.name.substr(0, dot) + "]");
    }
    command.footer(peer_footer);
}

void describe_join(CLI::App& command, JoinOptions& options) {
    add_target(command, options.target);
    command.add_option("seeds", options.seeds, "Gossip addresses of peers of the cluster to join")
        ->type_name("HOST:PORT...")
        ->required();
    command.footer(
        "Example:\n  exaserve join --peer http://127.0.0.1:8000 10.0.0.1:7946 10.0.0.2:7946\n\n"
        "The peer asks these seeds, beside those of its configuration, until one of them answers. The command returns "
        "when a peer has come that was not there, or is one of the seeds, and fails (exit code 1) when none has within "
        "ten seconds: seeds of a cluster with another name, or with other keys, do not answer.");
    command.add_flag("!--no-wait", options.wait, "Return at once instead of when a seed has answered");
}

void describe_leave(CLI::App& command, LeaveOptions& options) {
    add_target(command, options.target);
    command.add_flag("!--no-wait", options.wait, "Return at once instead of when the peer has ended");
    command.footer(
        "Running answers finish, new requests go to other peers, then the peer's process ends. No request "
        "fails.\n\nExample:\n  exaserve leave --peer http://127.0.0.1:8002");
}

void describe_drain(CLI::App& command, DrainOptions& options) {
    command.add_option("peer", options.name, "Name or id of the peer that is to leave; default: the one asked")
        ->type_name("NAME");
    add_target(command, options.target);
    command.footer(
        "As leave, of any peer of the cluster, with its progress: replicas admit nothing new, running answers finish, "
        "what the peer holds of the KV cache goes to its new owners, the door closes, the peer ends. No request "
        "fails.\n\nExample:\n  exaserve drain peer-2");
}

void describe_confirm_dead(CLI::App& command, ConfirmDeadOptions& options) {
    add_target(command, options.target);
    command.footer(
        "When more than a third of the peers are dead at once, it may be the network that is cut: the dead then stay "
        "'dead' and their work is not placed anew until some of them are back. This order says that they really are "
        "gone. Give it to every peer that is left.\n\nExample:\n  exaserve confirm-dead --peer http://127.0.0.1:8002");
}

void describe_route(CLI::App& command, RouteOptions& options) {
    add_target(command, options.target);
    command.add_option("--session", options.session, "The session's own id, or a token of an x-session-id header")
        ->type_name("ID");
    command.add_option("--model", options.model, "Model; may be left out when there is only one")->type_name("NAME");
    auto* prompt = command.add_option("--prompt", options.prompt, "Text of a completion without a session");
    prompt->type_name("TEXT");
    command
        .add_option("--request", options.request_file,
                    "JSON body of a request, whose prompt, model and session count; - is standard input")
        ->type_name("FILE")
        ->check(CLI::ExistingFile | CLI::IsMember({"-"}))
        ->excludes(prompt);
    command.add_option("--tenant", options.tenant, "Tenant that asks")->type_name("NAME");
    command.add_option("--priority", options.priority, "high, normal or low")
        ->type_name("LEVEL")
        ->check(CLI::IsMember({"high", "normal", "low"}));
    // What it prints explains in any case; for those who say so all the same.
    command.add_flag("--explain")->description("As without it");
    command.footer(
        "The ring owner of a session is the same on every peer. Where a request goes also depends on what the asked "
        "peer knows of loads and failures. Of each candidate: requests in flight; BURDEN, the same with waiting "
        "prompts, memory and late tokens, in requests; BOUND, from where on it is passed over; LIMIT of its places; "
        "WAIT, requests that wait for one; SHARE of a new replica; how near it is.\n\n"
        "'because' is one of:\n"
        "  session_owner    the ring gives the session to it\n"
        "  session_spilled  the owner is loaded above its bound or full: the next on the ring with room\n"
        "  session_moved    the owner drains or is out of reach: the next on the ring\n"
        "  spill_kept       where the session spilled to lately; its cache is there\n"
        "  warm_prefix      no session, but prompts that begin alike go here, so its KV is likely in the cache\n"
        "  least_loaded     the less loaded of two drawn at random, the nearer one of about equals\n"
        "  last_resort      no replica is eligible: the best of the rest\n"
        "  shortest_queue   all are full: here the fewest wait for a place\n\nExample:\n"
        "  exaserve route --session alice --json\n  exaserve route --request body.json");
}

CLI::Validator is_segment_key() {
    return CLI::Validator(
        [](std::string& text) {
            const bool is_key = kv::parse_segment_key(text).has_value();
            return is_key ? std::string() : "'" + text + "' is no key: it must be 64 hexadecimal digits";
        },
        "");
}

CLI::Validator is_not_empty() {
    return CLI::Validator([](std::string& text) { return std::string(text.empty() ? "it is empty" : ""); }, "");
}

void describe_kv(CLI::App& command, KvOptions& options) {
    command.require_subcommand(1);
    const auto add = [&](const char* name, KvCommand kind, const char* help) {
        CLI::App* sub = command.add_subcommand(name, help);
        sub->callback([&options, kind] { options.command = kind; });
        add_target(*sub, options.target);
        return sub;
    };
    const auto add_keyed = [&](const char* name, KvCommand kind, const char* help) {
        CLI::App* sub = add(name, kind, help);
        sub->add_option("key", options.key, "Key of a segment: 64 hexadecimal digits")
            ->type_name("KEY")
            ->check(is_segment_key())
            ->required();
        return sub;
    };
    add("stats", KvCommand::stats, "Show what the peer keeps outside its replicas, and what it was good for");
    const auto add_sought = [&](const char* name, KvCommand kind, const char* help) {
        CLI::App* sub = add(name, kind, help);
        auto* const which = sub->add_option_group("which", "Exactly one of these")->require_option(1);
        which->add_option("session", options.session, "A session's own id, or a token of an x-session-id header")
            ->type_name("SESSION")
            ->check(is_not_empty());
        which->add_option("--key", options.key, "Key of a segment: 64 hexadecimal digits")
            ->type_name("KEY")
            ->check(is_segment_key());
        which->add_option("--replica", options.replica, "Id of a replica: of the sessions that it answered lately")
            ->type_name("ID");
        which->add_option("--request", options.file, "JSON body of a request; - is standard input")
            ->type_name("FILE")
            ->check(CLI::ExistingFile | CLI::IsMember({"-"}));
        sub->add_option("--tenant", options.tenant, "Tenant of the session or request; default: the anonymous one")
            ->type_name("NAME");
        sub->add_option("--model", options.model, "Model of the session; may be left out when there is only one")
            ->type_name("NAME");
        return sub;
    };
    add_sought("locate", KvCommand::locate, "Tell on which peers of the cluster segments are; that is no use of them");
    add_sought("migrate", KvCommand::migrate, "Bring segments to a peer, before their session or replica moves there")
        ->add_option("--to", options.to, "Name or id of the peer")
        ->type_name("PEER")
        ->required();
    add("repair", KvCommand::repair,
        "Show for every peer whether what it holds is at its owners, and how far repair is")
        ->add_flag("--wait", options.wait, "Return when all of it is, and nobody is dead who may come back");
    add_keyed("get", KvCommand::get, "Verify a segment and show its header")
        ->add_option("--output", options.file, "File that its payload goes to")
        ->type_name("FILE");
    add_keyed("put", KvCommand::put,
              "Store a file as a value under a key, unless one is there; no replica takes it for KV")
        ->add_option("file", options.file, "The value; - is standard input")
        ->type_name("FILE")
        ->required();
    add_keyed("del", KvCommand::del,
              "Drop a segment from memory and disk of every peer that has it; who needs it computes it again")
        ->add_flag("--here", options.here, "Of the peer that is asked alone; it may get it back from others");
    add("verify", KvCommand::verify, "Read and verify all that is on disk, and drop what is bad");
    CLI::App* const quota = add("quota", KvCommand::quota,
                                "Show what a tenant's segments take of the peer's disk and may take, or bound it");
    auto* const tenant = quota->add_option("tenant", options.tenant, "Tenant; default: the anonymous one");
    tenant->type_name("NAME");
    auto* const gib =
        quota->add_option("--gib", options.gib, "From now on at most so many GiB; 0: kv.tenant_quota_gib");
    gib->type_name("GIB")->check(CLI::Range(0, 1'048'576));
    quota->add_flag("--all", options.all, "Show every tenant that was given a quota of its own")
        ->excludes(tenant)
        ->excludes(gib);
    command.footer(
        "KV cache of prompts and answers is kept in segments of some tokens (kv.segment_tokens), each under a key that "
        "stands for all tokens up to its end, the tenant, and the model with its numerics: equal beginnings of prompts "
        "have equal keys, and a segment is never stale. A replica keeps the latest in its own memory; the peer keeps "
        "them in memory (kv.memory_mib) and on disk (kv.directory) for all its replicas and for its next life. A "
        "segment "
        "that is missing, or does not verify, is computed again.\n\n"
        "Examples:\n"
        "  exaserve kv stats\n"
        "  exaserve kv locate alice\n"
        "  exaserve kv migrate alice --to peer-2\n"
        "  exaserve kv repair --wait\n"
        "  exaserve kv verify --peer http://127.0.0.1:8001\n"
        "  exaserve kv quota acme --gib 20\n"
        "  exaserve kv get 5f0c... --output segment.bin\n\n"
        "A quota that is set here is the asked peer's, and holds until it ends. 'del' leaves what a replica has in its "
        "own memory, which it may offer again, and files of kv.cold_directory.");
}

void describe_keys(CLI::App& command, KeysOptions& options) {
    command.require_subcommand(1);
    const auto add = [&](const char* name, KeysAction action, const char* help) {
        CLI::App* sub = command.add_subcommand(name, help);
        sub->callback([&options, action] { options.action = action; });
        if (action == KeysAction::generate)
            sub->add_flag("--json", options.target.json, "Print JSON: the key's id, and the secret as base64");
        else
            add_target(*sub, options.target);
        return sub;
    };
    add("list", KeysAction::list, "Show the keys of the cluster, who holds them and who seals with which");
    CLI::App* const added = add("add", KeysAction::add, "Give every peer one more key; it seals nothing yet");
    added->add_option("file", options.file, "File with the key, - for standard input; default: the peer makes one")
        ->type_name("FILE");
    const std::pair<CLI::App*, const char*> changes[] = {
        {add("use", KeysAction::use, "Seal with this key from now on"), "Use it although not every peer holds it"},
        {add("remove", KeysAction::remove, "Take this key away from every peer"),
         "Remove it although that could cut peers off"}};
    for (const auto& [sub, force] : changes) {
        sub->add_option("id", options.id, "Id of the key, as 'exaserve keys list' shows it")
            ->type_name("ID")
            ->required();
        sub->add_flag("--force", options.force, force);
    }
    add("generate", KeysAction::generate, "Print a fresh key, for security.cluster_key_file");
    command.footer(
        "A rotation, on any one peer; each step waits for the one before to show on all peers in 'list':\n"
        "  exaserve keys add\n"
        "  exaserve keys use 5e6f7a8b\n"
        "  exaserve keys remove 1a2b3c4d\n\n"
        "An order that could cut a peer off is refused (exit code 5) and names the peers. Keys themselves are never "
        "shown; an id tells nothing of its key.");
}

void describe_config(CLI::App& command, ConfigOptions& options) {
    command.require_subcommand(1);
    const auto add = [&](const char* name, ConfigAction action, const char* help) {
        CLI::App* sub = command.add_subcommand(name, help);
        sub->callback([&options, action] { options.action = action; });
        if (action == ConfigAction::options)
            sub->add_flag("--json", options.target.json, "Print JSON");
        else
            add_target(*sub, options.target);
        return sub;
    };
    add("show", ConfigAction::show, "Show a peer's options in effect, and where each value comes from")
        ->add_flag("--changed", options.changed_only, "Only options that are not at their default");
    add("reload", ConfigAction::reload,
        "Read the peer's configuration file again; the answer names what needs a restart");
    add("options", ConfigAction::options, "List everything that can be set, with ranges and defaults; asks no peer");
    command.footer(
        "Flags override the file, the file overrides membership.profile, the profile overrides defaults. 'reload' does "
        "what SIGHUP does. A file that cannot be used changes nothing.\n\n"
        "Example:\n"
        "  exaserve config show --changed\n"
        "  exaserve config reload --peer http://127.0.0.1:8001");
}

void describe_api_keys(CLI::App& command, ApiKeysOptions& options) {
    command.require_subcommand(1);
    const auto add = [&](const char* name, ApiKeysAction action, const char* help) {
        CLI::App* sub = command.add_subcommand(name, help);
        sub->callback([&options, action] { options.action = action; });
        sub->add_option("--file", options.file, "The file of security.api_keys_file")->type_name("FILE")->required();
        sub->add_flag("--json", options.target.json, "Print JSON");
        return sub;
    };
    CLI::App* const create =
        add("create", ApiKeysAction::create, "Make a key and print it, this once; the file keeps its hash");
    create->add_option("--tenant", options.tenant, "Whose key it is; a new tenant may use every model without a limit")
        ->type_name("NAME");
    create->add_flag("--admin", options.admin, "The key may operate the cluster");
    add("list", ApiKeysAction::list, "Show the keys' ids and the tenants");
    add("revoke", ApiKeysAction::revoke, "Take a key out of the file")
        ->add_option("id", options.id, "Id of the key: the 8 digits behind sk-exa-")
        ->type_name("ID")
        ->required();
    command.footer(
        "Peers read the file again when it changes; copy it to every node. What tenants may do is for you to write "
        "there:\n\n"
        "  [tenants.acme]\n"
        "  models = [\"SmolLM2-135M-Instruct\", \"llama-*\"]   # default: all\n"
        "  requests_per_minute = 600                         # of each limit: none\n"
        "  tokens_per_minute = 100_000\n"
        "  tokens_per_day = 20_000_000\n"
        "  burst_seconds = 10            # so much of the rates at once; default 10, at most 3600\n"
        "  priority = \"high\"             # high, normal (default) or low\n\n"
        "Example:\n"
        "  exaserve apikeys create --file /etc/exaserve/api-keys.toml --tenant acme\n"
        "  exaserve apikeys create --file /etc/exaserve/api-keys.toml --admin\n"
        "  exaserve peer --security-api-keys-file /etc/exaserve/api-keys.toml");
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

template <class Options>
void describe_target(CLI::App& command, Options& options) {
    add_target(command, options.target);
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
    add_command<UpOptions>(app, chosen, describe_up, "up", "Start a cluster on this machine");
    add_command<PeerOptions>(app, chosen, describe_peer, "peer", "Run one peer");
    add_command<JoinOptions>(app, chosen, describe_join, "join", "Tell a peer to join a cluster");
    add_command<LeaveOptions>(app, chosen, describe_leave, "leave", "Drain a peer and end it; no request fails");
    add_command<DrainOptions>(app, chosen, describe_drain, "drain",
                              "Drain any peer of the cluster and show how far it is; no request fails");
    add_command<ConfirmDeadOptions>(app, chosen, describe_confirm_dead, "confirm-dead",
                                    "Tell a peer that the many it calls dead are gone, and not cut off");
    add_command<MembersOptions>(app, chosen, describe_target<MembersOptions>, "members",
                                "List the peers of the cluster, as one of them sees it");
    add_command<StatusOptions>(app, chosen, describe_target<StatusOptions>, "status", "Show how one peer is");
    add_command<ReplicasOptions>(app, chosen, describe_target<ReplicasOptions>, "replicas",
                                 "List the replicas of the cluster, their state and load");
    add_command<RingOptions>(
        app, chosen,
        [](CLI::App& command, RingOptions& options) {
            add_target(command, options.target);
            command.add_option("--model", options.model, "Only the rings of this model")->type_name("NAME");
        },
        "ring", "Show the consistent-hash rings and their digests, which are equal on every peer");
    add_command<RouteOptions>(app, chosen, describe_route, "route", "Explain which replica a session goes to");
    add_command<KvOptions>(app, chosen, describe_kv, "kv",
                           "Look into the KV cache of a peer or of the cluster, move and mend it");
    add_command<KeysOptions>(app, chosen, describe_keys, "keys", "Rotate the keys that seal what peers say");
    add_command<ApiKeysOptions>(app, chosen, describe_api_keys, "apikeys",
                                "Make, list and revoke the API keys of clients and operators");
    add_command<ConfigOptions>(app, chosen, describe_config, "config",
                               "Show a peer's configuration, and reload it while it runs");
    add_command<BenchOptions>(app, chosen, describe_bench, "bench", "Load a server and measure what it does");

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
