// Report: what a run has to say, as values; report_json.h and report_html.h write it down.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "loadgen/config.h"
#include "loadgen/ramp.h"
#include "loadgen/recorder.h"

namespace exa::loadgen {

// Something that was done to the service on purpose.
struct Disturbance {
    TimePoint at;
    std::string command;
    std::optional<int> exit_code;  // absent: it still ran at the end
};

struct Report {
    std::string name;
    std::string preset;
    Config config;
    std::vector<std::string> targets;  // URLs
    WallTime started;
    TimePoint start;
    Duration took{};
    bool interrupted = false;
    Recorder recorder;

    // Of a ramp; phase i of the recorder is step i.
    std::vector<Step> steps;
    std::optional<double> knee;    // requests/s
    std::optional<double> broken;  // the lowest rate that did not hold

    // Phase i of the recorder is what follows disturbance i.
    std::vector<Disturbance> disturbances;
};

// The numbers that people ask for first.
struct Summary {
    double measured_s = 0;
    double requests_per_s = 0;  // successes
    double goodput_per_s = 0;   // of them, those that met the objective
    double output_tokens_per_s = 0;
    double events_per_s = 0;
    double attained = 0;  // share of the requests due in the measured time that met the objective; 0 without any
    bool holds = false;   // attained is at least the configured share
};

Summary summarize(const Report& report);

// The percentiles that every report shows, as their names and shares.
struct Percentile {
    const char* name;
    double share;
};
inline constexpr Percentile percentiles[] = {
    {"p50", 0.5}, {"p90", 0.9}, {"p95", 0.95}, {"p99", 0.99}, {"p99.9", 0.999},
};

inline double to_ms(std::uint64_t us) {
    return static_cast<double>(us) / 1e3;
}
inline double to_seconds(Duration duration) {
    return static_cast<double>(duration.count()) / 1e6;
}

}  // namespace exa::loadgen
