// BenchOptions: what `exaserve bench` was asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "loadgen/config.h"
#include "loadgen/ramp.h"

namespace exa::cli {

enum class BenchPreset : std::uint8_t { steady, ramp_to_collapse, chaos };

struct BenchOptions {
    BenchPreset preset = BenchPreset::steady;
    std::string name;                  // empty: the preset's
    std::vector<std::string> targets;  // URLs; empty: the peer of EXASERVE_PEER or on this machine
    loadgen::Config config;
    // Absent: what suits the preset.
    std::optional<double> rate;
    std::optional<double> duration_s;
    std::optional<double> warmup_s;
    bool fixed_intervals = false;
    // Flags that were given and mean something for one kind of load only, as they are written.
    std::vector<std::string> closed_loop_flags;
    std::vector<std::string> open_loop_flags;
    std::vector<std::string> ramp_flags;

    std::string prompt_file;
    std::string trace_file;
    std::string api_key;
    std::vector<std::pair<std::string, std::string>> headers;
    bool checks_target = true;

    double step_s = 10;
    loadgen::RampConfig ramp;
    std::string kill_command;
    double kill_every_s = 30;

    std::string html_file;
    bool json = false;
    bool quiet = false;
    bool asserts_slo = false;
};

std::string_view to_string(BenchPreset preset);

// Options as given to a configuration that is complete: what the preset and other flags imply filled in. The error
// names the flags.
Result<loadgen::Config> complete_config(const BenchOptions& options);

}  // namespace exa::cli
