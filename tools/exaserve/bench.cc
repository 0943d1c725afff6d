#include "exaserve/bench.h"

#include <sys/resource.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <limits>

#include "app/loadgen/load_test.h"
#include "app/loadgen/plan.h"
#include "exaserve/bench_text.h"
#include "exaserve/child.h"
#include "exaserve/environment.h"
#include "exaserve/exit_code.h"
#include "exaserve/failure.h"
#include "exaserve/progress.h"
#include "exaserve/signals.h"
#include "io/http/client.h"
#include "loadgen/answer_reader.h"
#include "loadgen/prompts.h"
#include "loadgen/report.h"
#include "loadgen/report_html.h"
#include "loadgen/report_json.h"
#include "loadgen/trace.h"

namespace exa::cli {

namespace {

namespace json = boost::json;
using std::chrono::milliseconds;

constexpr milliseconds tick{50};
// Of a prompt file or a trace, in memory.
constexpr std::uintmax_t file_bytes_max = 2UL * 1024 * 1024 * 1024;

Duration from_seconds(double seconds) {
    return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

// Every request under way needs a descriptor; the usual soft limit is far below --in-flight-max.
void raise_descriptor_limit() {
    rlimit files{};
    if (getrlimit(RLIMIT_NOFILE, &files) != 0) return;
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
}

Outcome<std::string> read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) return Failure{exit_usage, path + ": cannot be read"};
    std::string text{std::istreambuf_iterator<char>(file), {}};
    if (text.size() > file_bytes_max) return Failure{exit_usage, path + ": more than 2 GiB"};
    return text;
}

// The ids of a /v1/models answer.
std::vector<std::string> model_ids(const std::string& body) {
    json::error_code code;
    const json::value value = json::parse(body, code);
    const auto* object = code ? nullptr : value.if_object();
    const auto* data = object == nullptr ? nullptr : object->if_contains("data");
    std::vector<std::string> ids;
    if (data == nullptr || !data->is_array()) return ids;
    for (const json::value& model : data->get_array()) {
        const auto* fields = model.if_object();
        const auto* id = fields == nullptr ? nullptr : fields->if_contains("id");
        if (id != nullptr && id->is_string()) ids.emplace_back(id->get_string());
    }
    return ids;
}

std::string joined(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
    return text.empty() ? "none" : text;
}

// Asks a target for its models, so that a wrong URL, key or name is one clear message and not a run of failures. The
// model to ask for.
Outcome<std::string> check_target(const std::string& url, const app::loadgen::HeaderFields& headers,
                                  const std::string& model) {
    auto parsed = io::http::parse_http_url(url);
    if (!parsed) return Failure{exit_usage, "--target: " + parsed.error().message()};
    io::http::HttpCall call = parsed.value();
    if (call.https) return Failure{exit_usage, "--target: " + url + ": load is not made over https"};
    while (call.target.ends_with('/')) call.target.pop_back();
    call.target = (call.target.empty() ? "/v1" : call.target) + "/models";
    for (const auto& [name, value] : headers) call.headers.add(name, value);
    call.idle_timeout = std::chrono::seconds(10);
    const auto reply = io::http::http_call(call);
    if (!reply) return Failure{exit_unreachable, "nothing answers at " + url + " (" + reply.error().message() + ")"};
    if (reply.value().status != 200)
        return Failure{exit_refused, url + ": GET " + call.target + " answers " + std::to_string(reply.value().status) +
                                         ": " + loadgen::error_text(reply.value().body) +
                                         " (--no-check --model NAME goes on without it)"};
    const auto ids = model_ids(reply.value().body);
    if (!model.empty()) {
        if (std::ranges::find(ids, model) != ids.end()) return model;
        return Failure{exit_usage, "the model '" + model + "' is not served at " + url + "; it serves " + joined(ids)};
    }
    if (ids.size() == 1) return ids.front();
    if (ids.empty()) return Failure{exit_refused, url + " serves no model"};
    return Failure{exit_usage, url + " serves several models; choose one with --model: " + joined(ids)};
}

Outcome<app::loadgen::LoadPlan> make_plan(const BenchOptions& options) {
    const auto config = complete_config(options);
    if (!config) return Failure{exit_usage, config.error().message()};
    app::loadgen::LoadPlan plan;
    plan.config = config.value();
    app::loadgen::HeaderFields headers = options.headers;
    if (!options.api_key.empty()) headers.emplace_back("authorization", "Bearer " + options.api_key);
    std::vector<std::string> urls = options.targets;
    if (urls.empty()) urls.emplace_back("http://127.0.0.1:8000");
    for (const std::string& url : urls) {
        if (options.checks_target) {
            BOOST_OUTCOME_TRY(plan.config.model, check_target(url, headers, plan.config.model));
        }
        auto target = app::loadgen::make_load_target(url, plan.config.api, headers);
        if (!target) return Failure{exit_usage, "--target: " + target.error().message()};
        plan.targets.push_back(std::move(target.value()));
    }
    if (plan.config.model.empty()) return Failure{exit_usage, "--no-check needs --model"};
    if (!options.prompt_file.empty()) {
        BOOST_OUTCOME_TRY(const auto text, read_file(options.prompt_file));
        auto prompts = loadgen::parse_prompts(text);
        if (!prompts) return Failure{exit_usage, options.prompt_file + ": " + prompts.error().message()};
        const auto fitting = loadgen::check_prompts(prompts.value(), plan.config.api);
        if (!fitting) return Failure{exit_usage, options.prompt_file + ": " + fitting.error().message()};
        plan.prompts = std::move(prompts.value());
    }
    if (!options.trace_file.empty()) {
        BOOST_OUTCOME_TRY(const auto text, read_file(options.trace_file));
        auto trace = loadgen::parse_trace(text);
        if (!trace) return Failure{exit_usage, options.trace_file + ": " + trace.error().message()};
        plan.trace = std::move(trace.value());
    }
    // A load of an hour is not to end with a page that cannot be written.
    if (!options.html_file.empty() && !std::ofstream(options.html_file, std::ios::app))
        return Failure{exit_usage, options.html_file + ": cannot be written"};
    return plan;
}

class Bench {
  public:
    Bench(const BenchOptions& options, app::loadgen::LoadPlan plan)
        : options_(options), ramp_(ramp_config(options, plan.config)), test_(std::move(plan)) {}

    int run();

  private:
    static loadgen::RampConfig ramp_config(const BenchOptions& options, const loadgen::Config& config) {
        loadgen::RampConfig ramp = options.ramp;
        ramp.from = config.rate;
        ramp.share = config.slo.share;
        return ramp;
    }

    bool is_ramp() const { return options_.preset == BenchPreset::ramp_to_collapse; }
    void drive_ramp();
    void begin_step();
    void drive_chaos();
    void show_progress();
    loadgen::Report make_report();
    int write(const loadgen::Report& report) const;

    const BenchOptions& options_;
    Signals signals_;
    Progress progress_;
    loadgen::Ramp ramp_;
    app::loadgen::LoadTest test_;

    TimePoint started_;
    WallTime started_wall_;
    bool interrupted_ = false;
    bool stopping_ = false;
    bool draining_ = false;  // a ramp between two steps
    TimePoint step_ends_;
    TimePoint drain_ends_;
    TimePoint next_kill_;
    std::vector<loadgen::Disturbance> disturbances_;
    std::optional<Child> killer_;
};

int Bench::run() {
    started_wall_ = io::clock::SystemClock().wall();
    test_.start();
    started_ = test_.plan().start;
    if (is_ramp()) begin_step();
    next_kill_ = started_ + test_.plan().config.warmup + from_seconds(options_.kill_every_s);
    while (!test_.is_done()) {
        if (signals_.take(tick)) {
            interrupted_ = true;
            stopping_ = true;
            test_.stop(true);
        }
        if (!stopping_ && is_ramp()) drive_ramp();
        if (!stopping_ && !options_.kill_command.empty()) drive_chaos();
        show_progress();
    }
    progress_.end();
    return write(make_report());
}

void Bench::begin_step() {
    test_.begin_phase();
    test_.set_rate(ramp_.rate());
    draining_ = false;
    step_ends_ = test_.now() + from_seconds(options_.step_s);
}

void Bench::drive_ramp() {
    const TimePoint now = test_.now();
    if (draining_) {
        if (test_.progress().in_flight == 0 || now >= drain_ends_) begin_step();
        return;
    }
    if (now < step_ends_) return;
    const auto glance = test_.glance();
    const auto& requests = glance.phase.requests;
    switch (ramp_.judge({requests.finished(), requests.met, glance.overdue})) {
        case loadgen::Ramp::Next::longer:
            step_ends_ = now + from_seconds(options_.step_s) / 4;
            break;
        case loadgen::Ramp::Next::step:
            begin_step();
            break;
        case loadgen::Ramp::Next::drain:
            test_.set_rate(0);
            draining_ = true;
            drain_ends_ = now + test_.plan().config.grace;
            break;
        case loadgen::Ramp::Next::end:
            stopping_ = true;
            test_.stop(true);
            break;
    }
}

void Bench::drive_chaos() {
    if (killer_) {
        const auto ended = killer_->poll();
        if (!ended) return;
        disturbances_.back().exit_code = ended->exit_code;
        killer_.reset();
    }
    const TimePoint now = test_.now();
    const TimePoint load_ends = started_ + test_.plan().config.warmup + test_.plan().config.duration;
    if (now < next_kill_ || now >= load_ends) return;
    next_kill_ = now + from_seconds(options_.kill_every_s);
    test_.begin_phase();
    disturbances_.push_back({test_.now(), options_.kill_command, std::nullopt});
    auto child = Child::start_shell(options_.kill_command);
    if (!child)
        disturbances_.back().exit_code = child.error().exit_code;
    else
        killer_ = std::move(child.value());
}

void Bench::show_progress() {
    if (options_.quiet || !progress_.is_terminal()) return;
    const auto progress = test_.progress();
    const auto& config = test_.plan().config;
    const double since = loadgen::to_seconds(progress.since_start);
    const double whole = loadgen::to_seconds(config.warmup + config.duration);
    std::string text;
    const double share = config.requests > 0 ? static_cast<double>(progress.succeeded + progress.failed) /
                                                   static_cast<double>(config.requests)
                                             : since / whole;
    if (is_ramp()) {
        text = "step " + std::to_string(ramp_.steps().size() + 1) + ", " + human_rate(ramp_.rate()) + " requests/s" +
               (draining_ ? ", draining" : "");
    } else {
        constexpr std::size_t width = 24;
        const auto filled = static_cast<std::size_t>(std::clamp(share, 0.0, 1.0) * width);
        text = "[" + std::string(filled, '=') + std::string(width - filled, ' ') + "]";
    }
    text += "  " + human_seconds(since) + "  " + std::to_string(progress.succeeded) + " ok, " +
            std::to_string(progress.failed) + " failed, " + std::to_string(progress.in_flight) + " in flight, " +
            human_rate(since > 0 ? static_cast<double>(progress.succeeded) / since : 0) + "/s";
    if (stopping_ || since > whole) text += "  waiting for answers; Ctrl-C ends it";
    progress_.show(text);
}

loadgen::Report Bench::make_report() {
    const TimePoint now = test_.now();
    loadgen::Report report{.name = options_.name.empty() ? std::string(to_string(options_.preset)) : options_.name,
                           .preset = std::string(to_string(options_.preset)),
                           .config = test_.plan().config,
                           .targets = {},
                           .started = started_wall_,
                           .start = started_,
                           .took = now - started_,
                           .interrupted = interrupted_,
                           .recorder = test_.finish(),
                           .steps = ramp_.steps(),
                           .knee = ramp_.knee(),
                           .broken = ramp_.broken(),
                           .disturbances = disturbances_};
    for (const auto& target : test_.plan().targets) report.targets.push_back(target.url);
    return report;
}

int Bench::write(const loadgen::Report& report) const {
    if (options_.json)
        std::printf("%s\n", loadgen::report_json(report).c_str());
    else
        std::fputs(bench_text(report, standard_output_style()).c_str(), stdout);
    std::fflush(stdout);
    if (!options_.html_file.empty() &&
        !(std::ofstream(options_.html_file) << loadgen::report_html(report) << std::flush)) {
        std::fprintf(stderr, "exaserve bench: %s: cannot be written\n", options_.html_file.c_str());
        return exit_failed;
    }
    const auto& due = report.recorder.due();
    if (due.succeeded == 0 && !interrupted_) {
        std::fputs("exaserve bench: not one request succeeded\n", stderr);
        return exit_failed;
    }
    return options_.asserts_slo && !loadgen::summarize(report).holds ? exit_failed : exit_ok;
}

}  // namespace

int run_bench(const BenchOptions& options) {
    raise_descriptor_limit();
    auto plan = make_plan(options);
    if (plan) return Bench(options, std::move(plan.value())).run();
    const Failure& failure = plan.error();
    std::fprintf(stderr, "exaserve bench: %s\n", failure.message.c_str());
    if (options.json) {
        const json::object error{{"message", failure.message}, {"exit_code", failure.exit_code}};
        std::printf("%s\n", json::serialize(json::object{{"error", error}}).c_str());
    }
    return failure.exit_code;
}

}  // namespace exa::cli
