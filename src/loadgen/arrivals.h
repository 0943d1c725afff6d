// Arrivals: when the requests of an open loop are due. A pure function of the generator and of the times at which the
// rate was changed: how the answers are doing has no influence.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/rng.h"
#include "base/time.h"
#include "loadgen/config.h"
#include "loadgen/trace.h"
#include "loadgen/workload.h"

namespace exa::loadgen {

struct Arrival {
    TimePoint due;
    std::optional<Lengths> lengths;  // of a trace
};

class Arrivals {
  public:
    // Fixed or Poisson. The first one is due within the first interval.
    Arrivals(ArrivalKind kind, double rate, TimePoint start, std::uint64_t seed);
    // Every `step`th row of a trace from `first` on, `speed` times as fast. The rows outlive this object.
    Arrivals(std::span<const TraceRow> rows, std::size_t first, std::size_t step, double speed, TimePoint start);

    // The next one, without taking it. Nothing at the end of a trace.
    std::optional<Arrival> peek() const;
    void pop();

    // From now on; arrivals due before `now` stay due. Not for a trace.
    void set_rate(double rate, TimePoint now);

  private:
    ArrivalKind kind_;
    double rate_ = 0;
    Rng rng_;
    TimePoint start_;
    double next_us_ = 0;  // behind start_; a fraction of a microsecond counts at high rates

    std::span<const TraceRow> rows_;
    std::size_t at_ = 0;
    std::size_t step_ = 1;
    double speed_ = 1;
};

}  // namespace exa::loadgen
