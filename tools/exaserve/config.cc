#include "exaserve/config.h"

#include <CLI/CLI.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/outcome/try.hpp>
#include <string>

#include "app/config/config_json.h"
#include "exaserve/admin_client.h"
#include "exaserve/describe.h"
#include "exaserve/show.h"

namespace exa::cli {

namespace {

namespace json = boost::json;

const json::array& list_in(const json::value& reply, std::string_view name) {
    static const json::array none;
    const auto* object = reply.if_object();
    const auto* list = object == nullptr ? nullptr : object->if_contains(name);
    return list != nullptr && list->is_array() ? list->get_array() : none;
}

bool is_true(const json::value& option, std::string_view name) {
    const auto* object = option.if_object();
    const auto* flag = object == nullptr ? nullptr : object->if_contains(name);
    return flag != nullptr && flag->is_bool() && flag->get_bool();
}

std::string config_text(const json::value& reply, bool changed_only, Style style) {
    Table table({{"option"}, {"value"}, {"from"}, {"changes"}});
    for (const json::value& option : list_in(reply, "options")) {
        const std::string source = field_text(option, "source");
        if (changed_only && source == "default") continue;
        table.add_row({field_text(option, "name"), field_text(option, "value"), source,
                       is_true(option, "live") ? "live" : "with a restart"});
    }
    return table.render(style);
}

std::string reload_text(const json::value& reply) {
    std::string text;
    for (const json::value& change : list_in(reply, "changed"))
        text += "changed        " + field_text(change, "name") + ": " + field_text(change, "before") + " -> " +
                field_text(change, "after") + "\n";
    for (const json::value& change : list_in(reply, "needs_restart"))
        text += "needs restart  " + field_text(change, "name") + ": is " + field_text(change, "before") +
                ", the file says " + field_text(change, "after") + "\n";
    return text.empty() ? "Nothing has changed.\n" : text;
}

std::string options_text(Style style) {
    Table table({{"option"}, {"type"}, {"unit"}, {"range"}, {"default"}, {"changes"}});
    const json::value all = app::config::options_json();
    for (const json::value& option : list_in(all, "options"))
        table.add_row({field_text(option, "name"), field_text(option, "type"), field_text(option, "unit"),
                       field_text(option, "range"), field_text(option, "default"),
                       is_true(option, "live") ? "live" : "with a restart"});
    return table.render(style);
}

}  // namespace

void describe(CLI::App& command, ConfigOptions& options) {
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

Outcome<std::string> ask(const ConfigOptions& options, Style style) {
    if (options.action == ConfigAction::options)
        return options.target.json ? json::serialize(app::config::options_json()) + "\n" : options_text(style);
    const AdminClient client(options.target.url, options.target.admin_key, std::chrono::seconds(10),
                             options.target.ca_file);
    if (options.action == ConfigAction::reload) {
        BOOST_OUTCOME_TRY(const auto reply, client.post("config/reload", json::object{}));
        return options.target.json ? json::serialize(reply) + "\n" : reload_text(reply);
    }
    BOOST_OUTCOME_TRY(const auto reply, client.get("config"));
    return options.target.json ? json::serialize(reply) + "\n" : config_text(reply, options.changed_only, style);
}

}  // namespace exa::cli
