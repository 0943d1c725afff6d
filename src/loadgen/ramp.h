// Ramp: looks for the highest rate that a service holds its objective at.
//
// The rate grows by a factor from step to step until one breaks. Then what was piled up drains, and a few steps between
// the last rate that held and the first that did not narrow the knee down.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace exa::loadgen {

struct RampConfig {
    double from = 1;        // requests/s of the first step
    double factor = 1.5;    // from step to step; above 1
    double rate_max = 1e6;  // ends there
    std::uint32_t refinements = 3;
    double share = 0.99;  // of requests that must meet the objective
};

// What was seen in a step. Requests belong to the step in which they ended.
struct StepResult {
    std::uint64_t finished = 0;
    std::uint64_t met = 0;
    std::uint64_t overdue = 0;  // still without a first token although it is too late for it
};

struct Step {
    double rate = 0;
    StepResult result;
    double attained = 0;  // share of finished and overdue requests that met the objective
    bool holds = false;
};

class Ramp {
  public:
    explicit Ramp(const RampConfig& config) : config_(config), rate_(config.from) {}

    // Requests/s of the step under way.
    double rate() const { return rate_; }

    enum class Next : std::uint8_t {
        longer,  // nothing to judge by yet: the same step goes on
        step,    // a step with the new rate()
        drain,   // the same, once nothing is in flight
        end,
    };
    // The step under way is over.
    Next judge(const StepResult& result);

    const std::vector<Step>& steps() const { return steps_; }
    // The highest rate that held; nothing when none did.
    std::optional<double> knee() const { return good_; }
    // The lowest rate that did not hold.
    std::optional<double> broken() const { return bad_; }

  private:
    RampConfig config_;
    double rate_;
    std::optional<double> good_;
    std::optional<double> bad_;
    std::uint32_t refined_ = 0;
    std::vector<Step> steps_;
};

}  // namespace exa::loadgen
