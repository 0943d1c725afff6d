#include "exaserve/bench_options.h"

#include <CLI/CLI.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <cmath>
#include <map>

#include "loadgen/errc.h"

namespace exa::cli {

namespace {

constexpr const char* footer =
    "Presets:\n"
    "  steady            one load for --duration (the default)\n"
    "  ramp-to-collapse  raises the rate step by step until the objective breaks, and reports the knee\n"
    "  chaos             a long steady load; runs --kill-command and reports gaps and failures around each time\n\n"
    "A closed loop (the default) has --concurrency clients that ask again when they have their answer. An open loop "
    "(--rate or --trace) sends when the time has come, however late answers are, and counts latency from that time.\n\n"
    "Lengths, turns and pauses are N, uniform:LOW:HIGH, normal:MEAN:DEVIATION, lognormal:MEDIAN:SIGMA or "
    "exponential:MEAN.\n\n"
    "Examples:\n"
    "  exaserve bench --concurrency 64 --duration 60\n"
    "  exaserve bench --rate 20 --turns uniform:2:8 --system-prompts 4 --think exponential:5 --html report.html\n"
    "  exaserve bench --target http://10.0.0.1:8000 --target http://10.0.0.2:8000 --move --trace BurstGPT_1.csv\n"
    "  exaserve bench ramp-to-collapse --rate 5 --step 20 --json\n"
    "  exaserve bench chaos --rate 10 --kill-command 'kill -9 $(cat peer-3.pid)' --kill-every 60\n\n"
    "Ctrl-C ends the load and shows what was measured so far; docs/bench.md explains every number.";

void add_seconds(CLI::App& command, const char* flag, Duration& into, const char* help) {
    command
        .add_option_function<double>(
            flag, [&into](double seconds) { into = Duration(std::llround(std::min(seconds, 1e9) * 1e6)); }, help)
        ->type_name("SECONDS")
        ->check(CLI::NonNegativeNumber);
}

void add_milliseconds(CLI::App& command, const char* flag, Duration& into, const char* help) {
    command
        .add_option_function<double>(
            flag, [&into](double ms) { into = Duration(std::llround(std::min(ms, 1e12) * 1e3)); }, help)
        ->type_name("MS")
        ->check(CLI::PositiveNumber);
}

template <class Place>
void add_distribution(CLI::App& command, const char* flag, Place& into, const char* help) {
    command
        .add_option_function<std::string>(
            flag,
            [&into, flag](const std::string& text) {
                const auto parsed = loadgen::Distribution::parse(text);
                if (!parsed) throw CLI::ValidationError(flag, parsed.error().message());
                into = parsed.value();
            },
            help)
        ->type_name("DIST");
}

void set_header(BenchOptions& options, const std::string& line) {
    const auto colon = line.find(':');
    if (colon == std::string::npos || colon == 0 || line.find_first_of("\r\n") != std::string::npos)
        throw CLI::ValidationError("--header", "'" + line + "' is not 'NAME: VALUE'");
    const auto value = line.find_first_not_of(' ', colon + 1);
    options.headers.emplace_back(line.substr(0, colon), value == std::string::npos ? "" : line.substr(value));
}

void set_body(BenchOptions& options, const std::string& text) {
    boost::json::error_code code;
    const auto value = boost::json::parse(text, code);
    if (code || !value.is_object()) throw CLI::ValidationError("--body", "'" + text + "' is not a JSON object");
    const std::string fields = boost::json::serialize(value);
    options.config.extra_fields = fields.substr(1, fields.size() - 2);
}

// Remembers in `given` that the option was.
CLI::Option* noting(CLI::Option* option, std::vector<std::string>& given) {
    return option->each([&given, name = option->get_name()](const std::string&) { given.push_back(name); });
}

void describe_load(CLI::App& command, BenchOptions& options) {
    constexpr const char* group = "Load";
    loadgen::Config& config = options.config;
    command.option_defaults()->group(group);
    noting(command.add_option("--concurrency", config.concurrency, "Clients of a closed loop"),
           options.closed_loop_flags)
        ->capture_default_str();
    command.add_option("--rate", options.rate, "Requests a second of an open loop; of a ramp the first step's")
        ->type_name("R");
    command.add_flag("--fixed", options.fixed_intervals, "Equal times between requests; default: Poisson arrivals");
    auto* const trace = command.add_option("--trace", options.trace_file,
                                           "CSV of BurstGPT or of Azure's LLM inference traces: when, how long");
    trace->type_name("FILE");
    command.add_option("--trace-speed", config.trace_speed, "2 plays the trace in half its time")
        ->type_name("X")
        ->needs(trace);
    command
        .add_option("--duration", options.duration_s, "Measured time after the warm-up; default: 30, with chaos 300")
        ->type_name("SECONDS");
    command.add_option("--warmup", options.warmup_s, "Load before the measured time; default 3, 0 with --requests")
        ->type_name("SECONDS");
    command.add_option("--requests", config.requests, "Stop after so many requests instead of --duration");
    add_seconds(command, "--grace", config.grace, "For answers under way at the end; default 30. Later ones fail");
    noting(command.add_option("--connections", config.connections,
                              "Of an open loop to each target; beyond, requests wait"),
           options.open_loop_flags)
        ->capture_default_str();
    noting(command.add_option("--in-flight-max", config.in_flight_max,
                              "Of an open loop; requests beyond fail as overflow"),
           options.open_loop_flags)
        ->capture_default_str();
    command.add_option("--threads", config.threads, "Threads that make the load")->capture_default_str();
    command.add_option("--seed", config.seed, "Of everything drawn at random")->capture_default_str();
}

void describe_requests(CLI::App& command, BenchOptions& options) {
    loadgen::Config& config = options.config;
    command.option_defaults()->group("Requests");
    command.add_option("--model", config.model, "Model to ask for; may be left out when only one is served")
        ->type_name("NAME");
    command
        .add_option_function<std::string>(
            "--api",
            [&config](const std::string& api) {
                config.api = api == "chat" ? loadgen::Api::chat : loadgen::Api::completions;
            },
            "chat or completions; default chat")
        ->type_name("API")
        ->check(CLI::IsMember({"chat", "completions"}));
    command.add_flag("!--no-stream", config.stream, "Answers in one piece");
    command.add_flag("!--no-usage", config.asks_usage, "Do not ask streams for their usage");
    command
        .add_option("--prompts", options.prompt_file, "Lines of text, or JSON with prompt, messages or conversations")
        ->type_name("FILE");
    add_distribution(command, "--prompt-tokens", config.prompt_tokens, "Words of a made-up prompt; default 128");
    add_distribution(command, "--output-tokens", config.output_tokens, "max_tokens; default 64");
    command.add_flag("--ignore-eos", config.ignores_eos, "Ask for answers of full length, where the server knows how");
    command
        .add_option_function<std::string>(
            "--body", [&options](const std::string& text) { set_body(options, text); },
            "More members of every request's body, such as '{\"temperature\":0}'")
        ->type_name("JSON");
    command
        .add_option_function<std::vector<std::string>>(
            "--header",
            [&options](const std::vector<std::string>& lines) {
                for (const std::string& line : lines) set_header(options, line);
            },
            "One more header; may be repeated")
        ->type_name("'NAME: VALUE'")
        ->expected(1)
        ->take_all();
    command.add_option("--api-key", options.api_key, "Sent as 'authorization: Bearer KEY'")
        ->envname("EXASERVE_API_KEY")
        ->type_name("KEY");
}

void describe_sessions(CLI::App& command, BenchOptions& options) {
    loadgen::Config& config = options.config;
    command.option_defaults()->group("Conversations");
    add_distribution(command, "--turns", config.turns, "Turns of a conversation; default 1, or those of --prompts");
    add_distribution(command, "--think", config.think_seconds, "Seconds from an answer to the next turn; default 0");
    command.add_option("--system-prompts", config.system_prompts, "Different system prompts that conversations share");
    add_distribution(command, "--system-tokens", config.system_tokens, "Words of each; default 256");
    const std::map<std::string, loadgen::SessionIds> ids{{"none", loadgen::SessionIds::none},
                                                         {"client", loadgen::SessionIds::client},
                                                         {"server", loadgen::SessionIds::server}};
    command
        .add_option_function<std::string>(
            "--session-ids", [&config, ids](const std::string& name) { config.session_ids = ids.at(name); },
            "x-session-id: client (made here, the default), server (the token of the answer before) or none")
        ->type_name("WHOSE")
        ->check(CLI::IsMember({"none", "client", "server"}));
    command
        .add_option_function<std::string>(
            "--spread",
            [&config](const std::string& name) {
                config.spread = name == "random" ? loadgen::Spread::random : loadgen::Spread::round_robin;
            },
            "How conversations are spread over targets: round-robin (the default) or random")
        ->type_name("HOW")
        ->check(CLI::IsMember({"round-robin", "random"}));
    command.add_flag("--move", config.moves, "Every turn may go to another target");
}

void describe_judgement(CLI::App& command, BenchOptions& options) {
    loadgen::Config& config = options.config;
    command.option_defaults()->group("Objective and failures");
    add_milliseconds(command, "--slo-ttft-ms", config.slo.ttft, "Time to the first token; default 2000");
    add_milliseconds(command, "--slo-tbt-ms", config.slo.tbt, "99th percentile of a request's token gaps; default 250");
    command
        .add_option_function<double>(
            "--slo-share", [&config](double percent) { config.slo.share = percent / 100; },
            "Percent of requests that must meet both; default 99")
        ->type_name("PERCENT");
    command.add_flag("--assert-slo", options.asserts_slo, "Exit code 1 when the objective does not hold");
    add_seconds(command, "--connect-timeout", config.timeouts.connect, "Default 5");
    add_seconds(command, "--first-byte-timeout", config.timeouts.first_byte, "Default 60");
    add_seconds(command, "--idle-timeout", config.timeouts.idle, "From one byte of an answer to the next; default 30");
    command.add_option("--retries", config.retries, "Times to send a 503 that says when again; default 0");
    command.add_flag("!--no-check", options.checks_target, "Do not ask for the targets' models first");

    command.option_defaults()->group("Ramp and chaos");
    noting(command.add_option("--step", options.step_s, "Seconds of a ramp's step: several times an answer's"),
           options.ramp_flags)
        ->capture_default_str();
    noting(command.add_option("--factor", options.ramp.factor, "From one step's rate to the next one's"),
           options.ramp_flags)
        ->check(CLI::Range(1.01, 10.0))
        ->capture_default_str();
    noting(command.add_option("--rate-max", options.ramp.rate_max, "Where a ramp ends even when nothing broke"),
           options.ramp_flags)
        ->check(CLI::Range(0.001, 1e6))
        ->capture_default_str();
    noting(command.add_option("--refinements", options.ramp.refinements, "Steps that narrow the knee down"),
           options.ramp_flags)
        ->check(CLI::Range(0, 20))
        ->capture_default_str();
    auto* const kill =
        command.add_option("--kill-command", options.kill_command, "Shell command that disturbs the service");
    kill->type_name("CMD");
    command.add_option("--kill-every", options.kill_every_s, "Seconds from one to the next")
        ->check(CLI::Range(0.1, 86400.0))
        ->needs(kill)
        ->capture_default_str();
}

void describe_output(CLI::App& command, BenchOptions& options) {
    command.option_defaults()->group("Output");
    command.add_option("--name", options.name, "Name of the run in its reports; default: the preset's");
    command.add_flag("--json", options.json, "Print one JSON object instead of tables");
    command.add_option("--html", options.html_file, "Write a page with plots")->type_name("FILE");
    command.add_flag("--quiet", options.quiet, "No progress line");
}

Duration from_seconds(double seconds) {
    return Duration(std::llround(std::clamp(seconds, -1.0, 1e9) * 1e6));
}

}  // namespace

std::string_view to_string(BenchPreset preset) {
    switch (preset) {
        case BenchPreset::steady:
            return "steady";
        case BenchPreset::ramp_to_collapse:
            return "ramp-to-collapse";
        case BenchPreset::chaos:
            return "chaos";
    }
    return "unknown";
}

void describe(CLI::App& command, BenchOptions& options) {
    const std::map<std::string, BenchPreset> presets{{"steady", BenchPreset::steady},
                                                     {"ramp-to-collapse", BenchPreset::ramp_to_collapse},
                                                     {"chaos", BenchPreset::chaos}};
    command
        .add_option_function<std::string>(
            "preset", [&options, presets](const std::string& name) { options.preset = presets.at(name); },
            "steady, ramp-to-collapse or chaos")
        ->type_name("PRESET")
        ->check(CLI::IsMember({"steady", "ramp-to-collapse", "chaos"}));
    command
        .add_option("--target", options.targets,
                    "URL to ask, with or without the path before /chat/completions; may be repeated. Default "
                    "http://127.0.0.1:8000")
        ->envname("EXASERVE_PEER")
        ->type_name("URL")
        ->expected(1)
        ->take_all();
    describe_load(command, options);
    describe_requests(command, options);
    describe_sessions(command, options);
    describe_judgement(command, options);
    describe_output(command, options);
    command.footer(footer);
}

Result<loadgen::Config> complete_config(const BenchOptions& options) {
    loadgen::Config config = options.config;
    const bool ramps = options.preset == BenchPreset::ramp_to_collapse;
    const auto refuse = [](const std::string& what) { return error(loadgen::errc::invalid_config, what); };
    if (!options.trace_file.empty() && (options.rate || ramps))
        return refuse("--trace says when requests come: no --rate and no ramp beside it");
    const bool is_open = options.rate || ramps || !options.trace_file.empty();
    if (is_open && !options.closed_loop_flags.empty())
        return refuse(options.closed_loop_flags.front() +
                      " is for a closed loop, in which a client asks again when it has its answer: no --rate, no "
                      "--trace and no ramp beside it. What an open loop has under way at once is bounded by "
                      "--in-flight-max");
    if (!is_open && !options.open_loop_flags.empty())
        return refuse(options.open_loop_flags.front() + " is for an open loop: give its --rate or a --trace, too");
    if (options.fixed_intervals && !options.rate && !ramps)
        return refuse("--fixed says how the requests of a --rate or a ramp are spread; there is neither");
    if (!ramps && !options.ramp_flags.empty())
        return refuse(options.ramp_flags.front() + " belongs to the preset ramp-to-collapse");
    if (ramps && (options.duration_s || config.requests > 0))
        return refuse("a ramp ends by itself: no --duration and no --requests; see --step");
    if (!options.kill_command.empty() && options.preset != BenchPreset::chaos)
        return refuse("--kill-command belongs to the preset chaos");
    if (options.preset == BenchPreset::chaos && options.kill_command.empty())
        return refuse("chaos needs a --kill-command: what disturbs the service");

    if (!options.trace_file.empty())
        config.arrivals = loadgen::ArrivalKind::trace;
    else if (options.rate || ramps)
        config.arrivals = options.fixed_intervals ? loadgen::ArrivalKind::fixed : loadgen::ArrivalKind::poisson;
    config.rate = options.rate.value_or(ramps ? 1 : config.rate);

    // What ends by itself needs no time of its own.
    const bool ends_itself = ramps || config.requests > 0 || config.arrivals == loadgen::ArrivalKind::trace;
    constexpr double for_ever_s = 30.0 * 86'400;
    const double usual_s = options.preset == BenchPreset::chaos ? 300 : 30;
    config.duration = from_seconds(options.duration_s.value_or(ends_itself ? for_ever_s : usual_s));
    config.warmup = from_seconds(options.warmup_s.value_or(ends_itself ? 0 : 3));
    EXA_TRY(loadgen::validate(config));
    if (!(options.step_s >= 0.1 && options.step_s <= 86'400)) return refuse("--step must be 0.1 .. 86400 s");
    return config;
}

}  // namespace exa::cli
