#include "exaserve/up.h"

#include <signal.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>

#include "exaserve/admin_client.h"
#include "exaserve/child.h"
#include "exaserve/describe.h"
#include "exaserve/exit_code.h"
#include "exaserve/key.h"
#include "exaserve/progress.h"
#include "exaserve/signals.h"
#include "exaserve/table.h"

namespace exa::cli {

namespace {

namespace json = boost::json;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds poll_interval{100};
constexpr std::size_t start_batch = 32;
constexpr seconds join_time_max{3};
// Beyond the drain: to flush, say goodbye and exit.
constexpr seconds exit_margin{5};
constexpr std::size_t log_tail_lines = 8;

struct Member {
    PlannedPeer plan;
    std::optional<Child> child;
    AdminClient client;
    std::uintmax_t log_shown = 0;  // bytes of its log that --follow has copied, or that were there before
    bool reported = false;         // its end
};

class Cluster {
  public:
    explicit Cluster(const UpOptions& options) : options_(options) {}

    int run() {
        if (const int code = start(); code != exit_ok) return code;
        const int code = wait_until_ready();
        if (code != exit_ok || stop_asked_) {
            stop();
            return code;
        }
        announce();
        stay();
        stop();
        return all_ended_ ? exit_failed : exit_ok;
    }

  private:
    int start();
    int wait_until_ready();
    void announce() const;
    void stay();
    void stop();

    void let_join(const Member& member);
    std::optional<std::string> unready();
    Member* first_ended();
    void follow_logs();
    void print_log_tail(const Member& member) const;

    const UpOptions& options_;
    Signals signals_;
    Progress progress_;
    std::vector<Member> members_;
    std::size_t asks_ = 0;  // which member is asked whether it is ready
    Clock::time_point started_ = Clock::now();
    bool stop_asked_ = false;
    bool all_ended_ = false;
};

int fail(const Failure& failure) {
    std::fprintf(stderr, "exaserve up: %s\n", failure.message.c_str());
    return failure.exit_code;
}

std::uintmax_t size_or_zero(const std::string& path) {
    std::error_code errc;
    const auto size = std::filesystem::file_size(path, errc);
    return errc ? 0 : size;
}

std::string ended_text(const Ended& ended) {
    if (ended.signal) return "was ended by signal " + std::to_string(*ended.signal);
    return "ended with exit code " + std::to_string(ended.exit_code);
}

const json::value* find(const json::value& value, std::string_view key) {
    const auto* object = value.if_object();
    return object == nullptr ? nullptr : object->if_contains(key);
}

bool is_serving(const json::value& status) {
    const auto* self = find(status, "self");
    const auto* state = self == nullptr ? nullptr : find(*self, "state");
    return state != nullptr && *state == "serving";
}

std::uint64_t count(const json::value& value, std::string_view key) {
    const auto* found = find(value, key);
    json::error_code errc;
    const auto number = found == nullptr ? 0 : found->to_number<std::uint64_t>(errc);
    return errc ? 0 : number;
}

int Cluster::start() {
    auto plans = plan_peers(options_);
    if (!plans) return fail(plans.error());
    // One left behind would say "ready" too early.
    if (!options_.ready_file.empty()) std::remove(options_.ready_file.c_str());
    for (PlannedPeer& plan : plans.value()) {
        std::error_code errc;
        std::filesystem::create_directories(plan.data_dir, errc);
        if (errc) return fail({exit_data_dir, plan.data_dir + ": " + errc.message()});
        AdminClient client("http://" + plan.http, options_.admin_key, seconds(2));
        if (client.is_reachable())
            return fail({exit_cannot_bind, plan.http + " is in use; choose other ports with --base-port"});
        const auto log_size = size_or_zero(plan.log_file);
        members_.push_back({std::move(plan), std::nullopt, std::move(client), log_size});
    }
    if (options_.encrypted)
        if (const auto made = make_key_file(key_file(options_)); !made) return fail(made.error());
    for (std::size_t i = 0; i < members_.size() && !stop_asked_; ++i) {
        Member& member = members_[i];
        auto child = Child::start(member.plan.arguments, member.plan.log_file);
        if (!child) return fail(child.error());
        member.child = std::move(child.value());
        if ((i + 1) % start_batch == 0) let_join(member);
    }
    return exit_ok;
}

// Hundreds of processes that start at once starve one another until they take one another for dead, so each batch has a
// moment to join before the next.
void Cluster::let_join(const Member& member) {
    progress_.show("starting: " + member.plan.name + " of " + std::to_string(members_.size()));
    for (const auto deadline = Clock::now() + join_time_max; Clock::now() < deadline && !stop_asked_;) {
        if (const auto reply = member.client.get("status"); reply && is_serving(reply.value())) return;
        stop_asked_ = signals_.take(poll_interval / 4);
    }
}

// What is still to come, as a progress line; nothing when every peer sees every peer and replica. One that is behind
// says as much as all of them: only it is asked again, since a peer that is asked all the time starts slower.
std::optional<std::string> Cluster::unready() {
    const std::uint64_t replicas = std::uint64_t{options_.peers} * options_.replicas;
    for (std::size_t asked = 0; asked < members_.size(); ++asked) {
        const Member& member = members_[asks_];
        const auto reply = member.client.get("status");
        if (!reply) return "waiting for " + member.plan.name + " to answer";
        const auto* peers = find(reply.value(), "peers");
        // On a machine that is busy with the start, peers suspect one another for a moment.
        const std::uint64_t live = peers == nullptr ? 0 : count(*peers, "alive") + count(*peers, "suspect");
        const std::uint64_t ready = count(reply.value(), "replicas_ready");
        if (live != members_.size() || ready < replicas || !is_serving(reply.value()))
            return "waiting: " + member.plan.name + " sees " + std::to_string(live) + "/" +
                   std::to_string(members_.size()) + " peers and " + std::to_string(ready) + "/" +
                   std::to_string(replicas) + " replicas ready";
        asks_ = (asks_ + 1) % members_.size();
    }
    return std::nullopt;
}

int Cluster::wait_until_ready() {
    if (stop_asked_) return exit_ok;
    const auto deadline = started_ + seconds(options_.wait_seconds);
    while (true) {
        const auto missing = unready();
        if (!missing) break;
        progress_.show(*missing);
        follow_logs();
        if (Member* member = first_ended()) {
            progress_.end();
            const Ended ended = *member->child->poll();
            std::fprintf(stderr, "exaserve up: %s %s; the end of %s:\n", member->plan.name.c_str(),
                         ended_text(ended).c_str(), member->plan.log_file.c_str());
            print_log_tail(*member);
            return ended.exit_code == exit_ok ? exit_failed : ended.exit_code;
        }
        if (Clock::now() > deadline) {
            progress_.end();
            return fail({exit_failed, "not ready after " + std::to_string(options_.wait_seconds) + " s (" + *missing +
                                          "); the logs are in " + options_.run_dir});
        }
        if (signals_.take(poll_interval)) {
            stop_asked_ = true;
            break;
        }
    }
    progress_.end();
    return exit_ok;
}

void Cluster::announce() const {
    const double took = std::chrono::duration<double>(Clock::now() - started_).count();
    if (!options_.ready_file.empty()) std::ofstream(options_.ready_file) << getpid() << "\n";
    if (options_.json) {
        json::array peers;
        for (const Member& member : members_)
            peers.push_back(json::object{{"name", member.plan.name},
                                         {"url", "http://" + member.plan.http},
                                         {"pid", member.child->pid()},
                                         {"log", member.plan.log_file}});
        const json::object up{{"run_dir", options_.run_dir}, {"ready_seconds", took}, {"peers", std::move(peers)}};
        std::printf("%s\n", json::serialize(up).c_str());
    } else {
        std::printf("up: %u peer%s with %u replica%s each, ready in %s\n\n", options_.peers,
                    options_.peers == 1 ? "" : "s", options_.replicas, options_.replicas == 1 ? "" : "s",
                    human_seconds(took).c_str());
        for (const Member& member : members_)
            std::printf("  %-8s http://%s/v1\n", member.plan.name.c_str(), member.plan.http.c_str());
        std::printf("\nlogs: %s/peer-*.log\nTry 'exaserve members --peer http://%s'. Ctrl-C stops the cluster.\n",
                    options_.run_dir.c_str(), members_.front().plan.http.c_str());
    }
    std::fflush(stdout);
}

void Cluster::stay() {
    while (!stop_asked_ && !all_ended_) {
        stop_asked_ = signals_.take(poll_interval);
        follow_logs();
        all_ended_ = true;
        for (Member& member : members_) {
            const auto ended = member.child->poll();
            all_ended_ &= ended.has_value();
            if (!ended || member.reported) continue;
            member.reported = true;
            std::fprintf(stderr, "exaserve up: %s %s; start it again with:\n  exaserve", member.plan.name.c_str(),
                         ended_text(*ended).c_str());
            for (const std::string& argument : member.plan.arguments) std::fprintf(stderr, " %s", argument.c_str());
            std::fputs("\n", stderr);
        }
    }
}

void Cluster::stop() {
    const auto running = [this] {
        return std::ranges::count_if(members_, [](Member& member) { return member.child && !member.child->poll(); });
    };
    for (Member& member : members_)
        if (member.child) member.child->signal(SIGTERM);
    const auto deadline = Clock::now() + seconds(options_.drain_seconds) + exit_margin;
    while (running() > 0 && Clock::now() < deadline) {
        progress_.show("stopping: " + std::to_string(running()) + " peers finish their answers; Ctrl-C again to kill");
        follow_logs();
        if (signals_.take(poll_interval)) break;
    }
    progress_.end();
    for (Member& member : members_)
        if (member.child) member.child->signal(SIGKILL);
}

Member* Cluster::first_ended() {
    const auto at = std::ranges::find_if(members_, [](Member& member) { return member.child->poll().has_value(); });
    return at == members_.end() ? nullptr : &*at;
}

void Cluster::follow_logs() {
    if (!options_.follow) return;
    for (Member& member : members_) {
        std::ifstream log(member.plan.log_file);
        log.seekg(static_cast<std::streamoff>(member.log_shown));
        std::string line;
        // A line without its end is still being written: next time.
        while (std::getline(log, line) && !log.eof()) {
            member.log_shown += line.size() + 1;
            std::fprintf(stderr, "%s | %s\n", member.plan.name.c_str(), line.c_str());
        }
    }
}

void Cluster::print_log_tail(const Member& member) const {
    std::ifstream log(member.plan.log_file);
    log.seekg(static_cast<std::streamoff>(member.log_shown));
    std::vector<std::string> lines;
    for (std::string line; std::getline(log, line);) lines.push_back(std::move(line));
    const std::size_t first = lines.size() - std::min(lines.size(), log_tail_lines);
    for (std::size_t i = first; i < lines.size(); ++i) std::fprintf(stderr, "  %s\n", lines[i].c_str());
}

}  // namespace

namespace {

constexpr const char* up_footer =
    "Examples:\n"
    "  exaserve up\n"
    "  exaserve up --peers 5 --replicas 1 --racks 2 --base-port 9000\n"
    "  exaserve up --model llama.gguf --set model.in_flight_limit=16\n"
    "  exaserve up --peers 32 --replicas 12 --engine null\n\n"
    "With --base-port P, peer i (from 0) takes P+i for HTTP, P+100+i for links and P+200+i for gossip (P+1000+i and "
    "P+2000+i with more than 100 peers). Logs are "
    "RUN_DIR/peer-*.log. The exit code is that of the first peer that failed to start.";

}  // namespace

void describe(CLI::App& command, UpOptions& options) {
    command.add_option("--peers", options.peers, "Peers to start")
        ->check(CLI::Range(std::uint32_t{1}, peers_max))
        ->capture_default_str();
    command.add_option("--replicas", options.replicas, "Replicas of the model on each peer")
        ->check(CLI::Range(0, 64))
        ->capture_default_str();
    command.add_option("--racks", options.racks, "Virtual racks to spread the peers over; default: one each")
        ->check(CLI::Range(std::uint32_t{1}, peers_max));
    command
        .add_option("--model", options.model,
                    "GGUF file of a Llama-family model; default: SmolLM2-135M-Instruct in the user's cache")
        ->type_name("FILE");
    command.add_option("--model-name", options.model_name, "Model name for clients; default: the file's name")
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
    command.add_option("--ready-file", options.ready_file, "File to create when every replica is ready")
        ->type_name("FILE");
    command.add_option("--wait", options.wait_seconds, "Seconds to wait until every replica is ready")
        ->check(CLI::Range(1, 86400))
        ->capture_default_str();
    command
        .add_option("--drain-seconds", options.drain_seconds, "Seconds that running answers get to finish at the end")
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
            "Set a configuration key of every peer (see 'exaserve peer --help'); may be repeated")
        ->type_name("KEY=VALUE")
        ->expected(1)
        ->take_all();
    add_admin_key(command, options.admin_key);
    command.add_flag("--encrypted", options.encrypted,
                     "Encrypt gossip and links with RUN_DIR/cluster.key, which is created if it is missing");
    command.add_flag("--follow", options.follow,
                     "Copy the peers' logs to standard error, each line with its peer's name");
    command.add_flag("--json", options.json, "Print one line of JSON when ready, instead of text");
    command.footer(up_footer);
}

int run_up(const UpOptions& options) {
    return Cluster(options).run();
}

}  // namespace exa::cli
