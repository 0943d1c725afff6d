#include "exaserve/ask.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/outcome/try.hpp>
#include <chrono>
#include <thread>

#include "exaserve/admin_client.h"
#include "exaserve/exit_code.h"
#include "exaserve/show.h"

namespace exa::cli {

namespace {

namespace json = boost::json;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds gone_poll_interval{100};
constexpr std::chrono::seconds gone_margin{10};

using Show = std::string (*)(const json::value& reply, Style style);

Outcome<std::string> get_and_show(const Target& target, std::string_view path, const Query& query, Style style,
                                  Show show) {
    BOOST_OUTCOME_TRY(const auto reply, AdminClient(target.url).get(path, query));
    return target.json ? json::serialize(reply) + "\n" : show(reply, style);
}

// 0 when the reply does not say.
std::int64_t drain_seconds(const json::value& reply) {
    const auto* object = reply.if_object();
    const auto* seconds = object == nullptr ? nullptr : object->if_contains("drain_seconds");
    return seconds != nullptr && seconds->is_int64() ? seconds->get_int64() : 0;
}

bool wait_until_gone(const AdminClient& client, std::chrono::seconds limit) {
    const auto deadline = Clock::now() + limit;
    while (client.is_reachable()) {
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
    return get_and_show(options.target, "route", {{"session", options.session}, {"model", options.model}}, style,
                        route_text);
}

Outcome<std::string> ask(const JoinOptions& options, Style) {
    const json::object body{{"seeds", json::array(options.seeds.begin(), options.seeds.end())}};
    BOOST_OUTCOME_TRY(const auto reply, AdminClient(options.target.url).post("join", body));
    if (options.target.json) return json::serialize(reply) + "\n";
    return "the peer asks " + std::to_string(options.seeds.size()) +
           " seeds from now on; see 'exaserve members --peer " + options.target.url + "'\n";
}

Outcome<std::string> ask(const LeaveOptions& options, Style) {
    const AdminClient client(options.target.url, std::chrono::seconds(2));
    BOOST_OUTCOME_TRY(const auto reply, client.post("leave", json::object{}));
    const std::chrono::seconds drain(drain_seconds(reply));
    if (options.wait && !wait_until_gone(client, drain + gone_margin))
        return Failure{exit_failed, "the peer at " + options.target.url + " still answers after its " +
                                        human_seconds(static_cast<double>(drain.count())) + " to drain"};
    if (options.target.json) return json::serialize(reply) + "\n";
    return options.wait ? "left\n" : "leaving; it ends when its running answers have\n";
}

}  // namespace exa::cli
