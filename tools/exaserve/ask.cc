#include "exaserve/ask.h"

#include <signal.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/outcome/try.hpp>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <iterator>
#include <thread>

#include "exaserve/admin_client.h"
#include "exaserve/exit_code.h"
#include "exaserve/show.h"

namespace exa::cli {

namespace {

namespace json = boost::json;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds gone_poll_interval{100};
// Behind the drain: answers that go on elsewhere, the door, telling the cluster.
constexpr std::chrono::seconds gone_margin{20};

using Show = std::string (*)(const json::value& reply, Style style);

Outcome<std::string> get_and_show(const Target& target, std::string_view path, const Query& query, Style style,
                                  Show show) {
    BOOST_OUTCOME_TRY(const auto reply, AdminClient(target.url).get(path, query));
    return target.json ? json::serialize(reply) + "\n" : show(reply, style);
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
    const std::chrono::seconds drain(number_in(reply, "drain_seconds"));
    const auto process = static_cast<pid_t>(number_in(reply, "pid"));
    if (options.wait && process > 0 && !wait_until_gone(process, drain + gone_margin))
        return Failure{exit_failed, "the peer at " + options.target.url + " still runs after its " +
                                        human_seconds(static_cast<double>(drain.count())) + " to drain"};
    if (options.target.json) return json::serialize(reply) + "\n";
    return options.wait ? "left\n" : "leaving; it ends when its running answers have\n";
}

}  // namespace exa::cli
