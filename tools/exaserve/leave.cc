// exaserve leave: drains a peer on this machine and waits for its process to end.
#include <signal.h>

#include <CLI/CLI.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/outcome/try.hpp>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "exaserve/ask.h"
#include "exaserve/describe.h"
#include "exaserve/exit_code.h"
#include "exaserve/show.h"

namespace exa::cli {

namespace {

namespace json = boost::json;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds gone_poll_interval{100};
// After the drain: answers that continue elsewhere, the gateway closes, the cluster is told.
constexpr std::chrono::seconds gone_margin{20};

// The command runs on the peer's own machine, so it can see the process. A zombie has ended.
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

void describe(CLI::App& command, LeaveOptions& options) {
    add_target(command, options.target);
    command.add_flag("!--no-wait", options.wait, "Return at once, not after the peer has ended");
    command.footer(
        "Running answers finish, new requests go to other peers, then the peer's process ends. No request "
        "fails.\n\nExample:\n  exaserve leave --peer http://127.0.0.1:8002");
}

Outcome<std::string> ask(const LeaveOptions& options, Style) {
    const AdminClient client = client_of(options.target, std::chrono::seconds(2));
    BOOST_OUTCOME_TRY(const auto reply, client.post("leave", json::object{}));
    const std::chrono::seconds drain(number_in(reply, "drain_seconds"));
    const auto process = static_cast<pid_t>(number_in(reply, "pid"));
    if (options.wait && process > 0 && !wait_until_gone(process, drain + gone_margin))
        return Failure{exit_failed, "the peer at " + options.target.url + " is still running after its " +
                                        human_seconds(static_cast<double>(drain.count())) + " drain time"};
    if (options.target.json) return json::serialize(reply) + "\n";
    return options.wait ? "left\n" : "leaving; the process ends after its running answers\n";
}

}  // namespace exa::cli
