#include "exaserve/ask.h"

#include <CLI/CLI.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/outcome/try.hpp>

#include "exaserve/describe.h"
#include "exaserve/show.h"

namespace exa::cli {

namespace {

namespace json = boost::json;

}  // namespace

AdminClient client_of(const Target& target, Duration idle_timeout) {
    return AdminClient(target.url, target.admin_key, idle_timeout, target.ca_file);
}

Outcome<std::string> get_and_show(const Target& target, std::string_view path, const Query& query, Style style,
                                  Show show) {
    BOOST_OUTCOME_TRY(const auto reply, client_of(target).get(path, query));
    return target.json ? json::serialize(reply) + "\n" : show(reply, style);
}

std::int64_t number_in(const json::value& reply, std::string_view name) {
    const auto* object = reply.if_object();
    const auto* number = object == nullptr ? nullptr : object->if_contains(name);
    return number != nullptr && number->is_int64() ? number->get_int64() : 0;
}

void describe(CLI::App& command, MembersOptions& options) {
    add_target(command, options.target);
}

Outcome<std::string> ask(const MembersOptions& options, Style style) {
    return get_and_show(options.target, "members", {}, style, members_text);
}

void describe(CLI::App& command, StatusOptions& options) {
    add_target(command, options.target);
}

Outcome<std::string> ask(const StatusOptions& options, Style style) {
    return get_and_show(options.target, "status", {}, style, status_text);
}

void describe(CLI::App& command, ReplicasOptions& options) {
    add_target(command, options.target);
}

Outcome<std::string> ask(const ReplicasOptions& options, Style style) {
    return get_and_show(options.target, "replicas", {}, style, replicas_text);
}

void describe(CLI::App& command, RingOptions& options) {
    add_target(command, options.target);
    command.add_option("--model", options.model, "Only the rings of this model")->type_name("NAME");
}

Outcome<std::string> ask(const RingOptions& options, Style style) {
    return get_and_show(options.target, "ring", {{"model", options.model}}, style, ring_text);
}

}  // namespace exa::cli
