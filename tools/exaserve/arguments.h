// Arguments: what the command line asks for. describe.h says how each command is described.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "exaserve/bench_options.h"
#include "exaserve/plan.h"

namespace exa::cli {

// The peer that a command asks, and how it shows the answer.
struct Target {
    std::string url = "http://127.0.0.1:8000";
    std::string admin_key;  // empty: none is sent
    std::string ca_file;    // of https; empty: what the system trusts
    bool json = false;
};

// " --peer URL", and " --ca-file FILE" where there is one, for hints that name another command. Never a key.
std::string flags_of(const Target& target);

struct PeerOptions {
    std::string config_file;                                    // empty: none
    std::vector<std::pair<std::string, std::string>> settings;  // keys and values, over the file
};

struct JoinOptions {
    Target target;
    std::vector<std::string> seeds;
    bool wait = true;
};

struct LeaveOptions {
    Target target;
    bool wait = true;
};

struct DrainOptions {
    Target target;     // who is asked for the peers of the cluster, and watches
    std::string name;  // id or name of who is to leave; empty: the target
};

struct ConfirmDeadOptions {
    Target target;
    bool force = false;
};

struct MembersOptions {
    Target target;
};

struct StatusOptions {
    Target target;
};

struct ReplicasOptions {
    Target target;
};

struct RingOptions {
    Target target;
    std::string model;
};

struct RouteOptions {
    Target target;
    std::string session;
    std::string model;
    std::string tenant;
    std::string priority;
    std::string prompt;
    std::string request_file;  // "-": standard input
};

enum class KeysAction : std::uint8_t { list, add, use, remove, generate };

struct KeysOptions {
    Target target;
    KeysAction action = KeysAction::list;
    std::string file;  // add: "-" is standard input; empty: the peer makes a key
    std::string id;    // use, remove
    bool force = false;
};

enum class KvCommand : std::uint8_t { stats, locate, migrate, repair, get, put, del, verify, quota };

struct KvOptions {
    Target target;
    KvCommand command = KvCommand::stats;
    std::string key;      // get, put, del: 64 hexadecimal digits
    std::string file;     // locate, migrate, put: "-" is standard input; get: for the payload, empty: nowhere
    std::string tenant;   // locate, migrate, quota; empty: the anonymous one
    std::string session;  // locate, migrate: one of key, session, replica and file
    std::string model;    // of the session; empty: there is only one
    std::string replica;  // locate, migrate
    std::string to;       // migrate: id or name of a peer
    bool wait = false;    // repair: until all is at its owners
    bool here = false;    // del: at the peer that is asked alone
    bool all = false;     // quota: of all tenants that have their own
    std::optional<std::uint32_t> gib;  // quota; nothing: only tell
};

enum class ConfigAction : std::uint8_t { show, reload, options };

struct ConfigOptions {
    Target target;  // options: its `json` alone counts
    ConfigAction action = ConfigAction::show;
    bool changed_only = false;  // show: not what is at its default
};

enum class ApiKeysAction : std::uint8_t { create, list, revoke };

struct ApiKeysOptions {
    Target target;  // its `json` alone counts
    ApiKeysAction action = ApiKeysAction::list;
    std::string file;
    std::string tenant;  // create; empty: of none
    bool admin = false;  // create
    std::string id;      // revoke
};

using Command = std::variant<UpOptions, PeerOptions, JoinOptions, LeaveOptions, DrainOptions, ConfirmDeadOptions,
                             MembersOptions, StatusOptions, ReplicasOptions, RingOptions, RouteOptions, KvOptions,
                             KeysOptions, ApiKeysOptions, ConfigOptions, BenchOptions>;

// Nothing to run: help or version was asked for (exit_ok), or the arguments are wrong (exit_usage).
struct NoCommand {
    int exit_code = 0;
    std::string output;  // for standard output
    std::string errors;  // for standard error
};

// `argv` as main gets it. Reads EXASERVE_PEER, EXASERVE_ADMIN_KEY and EXASERVE_API_KEY.
std::variant<Command, NoCommand> parse_arguments(int argc, const char* const* argv);

}  // namespace exa::cli
