// exaserve keys: the keys that encrypt what peers say to one another.
#include <CLI/CLI.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/outcome/try.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/base64.h"
#include "exaserve/ask.h"
#include "exaserve/describe.h"
#include "exaserve/key.h"
#include "exaserve/show.h"

namespace exa::cli {

namespace {

namespace json = boost::json;

// The keys to add, as JSON bodies; without a file one that the peer makes.
Outcome<std::vector<json::object>> additions(const KeysOptions& options) {
    const json::object add{{"action", "add"}, {"force", options.force}};
    if (options.file.empty()) return std::vector{add};
    BOOST_OUTCOME_TRY(const auto keys, read_keys(options.file));
    std::vector<json::object> bodies;
    for (const ClusterKey& key : keys) {
        bodies.push_back(add);
        bodies.back()["secret"] = to_base64(key.secret);
    }
    return bodies;
}

std::string changed_text(KeysAction action, const json::value& reply, const Target& target) {
    const std::string list = "'exaserve keys list" + flags_of(target) + "'";
    const std::string id = field_text(reply, "id");
    const std::string warning = field_text(reply, "warning");
    const std::string warned = warning == "-" ? "" : "warning: forced although " + warning + "\n";
    if (action == KeysAction::add)
        return warned + "added " + id + "; when " + list +
               " shows it on every peer, continue with 'exaserve keys use " + id + flags_of(target) + "'\n";
    if (action == KeysAction::use) return warned + "peers encrypt with " + id + " from now on; see " + list + "\n";
    return warned + "removed " + id + "\n";
}

}  // namespace

void describe(CLI::App& command, KeysOptions& options) {
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
    add("list", KeysAction::list, "Show the keys, which peers hold them, and which key each peer encrypts with");
    CLI::App* const added =
        add("add", KeysAction::add, "Give every peer one more key; nothing is encrypted with it yet");
    added->add_option("file", options.file, "File with the key, or - for standard input; default: the peer makes one")
        ->type_name("FILE");
    added->add_flag("--force", options.force, "Add the key even if this peer has not met its cluster since it started");
    const std::pair<CLI::App*, const char*> changes[] = {
        {add("use", KeysAction::use, "Encrypt with this key from now on"),
         "Use the key even though some peers do not hold it"},
        {add("remove", KeysAction::remove, "Remove this key from every peer"),
         "Remove the key even if that cuts peers off"}};
    for (const auto& [sub, force] : changes) {
        sub->add_option("id", options.id, "Id of the key, as 'exaserve keys list' shows it")
            ->type_name("ID")
            ->required();
        sub->add_flag("--force", options.force, force);
    }
    add("generate", KeysAction::generate, "Print a new key for security.cluster_key_file");
    command.footer(
        "To rotate the key, run these on any one peer. Before each step, 'list' must show the previous one on all "
        "peers:\n"
        "  exaserve keys add\n"
        "  exaserve keys use 5e6f7a8b\n"
        "  exaserve keys remove 1a2b3c4d\n\n"
        "A command that could cut a peer off is refused (exit code 5) and names the peers; so is any at a peer that "
        "has "
        "not met its cluster since it started. Keys themselves are never "
        "shown, and an id reveals nothing about its key.");
}

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

}  // namespace exa::cli
