#include "loadgen/arrivals.h"

#include <cmath>

#include "base/check.h"
#include "loadgen/distribution.h"

namespace exa::loadgen {

Arrivals::Arrivals(ArrivalKind kind, double rate, TimePoint start, std::uint64_t seed)
    : kind_(kind), rate_(rate), rng_(seed), start_(start) {
    EXA_CHECK(rate > 0 && (kind == ArrivalKind::fixed || kind == ArrivalKind::poisson));
    // Fixed ones of several threads do not come in step.
    if (kind == ArrivalKind::fixed)
        next_us_ = rng_.unit() * 1e6 / rate_;
    else
        pop();
}

Arrivals::Arrivals(std::span<const TraceRow> rows, std::size_t first, std::size_t step, double speed, TimePoint start)
    : kind_(ArrivalKind::trace), rng_(0), start_(start), rows_(rows), at_(first), step_(step), speed_(speed) {
    EXA_CHECK(speed > 0 && step > 0);
}

std::optional<Arrival> Arrivals::peek() const {
    const auto at = [this](double us) { return start_ + Duration(std::llround(us)); };
    if (kind_ != ArrivalKind::trace) return Arrival{at(next_us_), std::nullopt};
    if (at_ >= rows_.size()) return std::nullopt;
    const TraceRow& row = rows_[at_];
    return Arrival{at(static_cast<double>(row.at.count()) / speed_), row.lengths};
}

void Arrivals::pop() {
    if (kind_ == ArrivalKind::trace)
        at_ += step_;
    else
        next_us_ += kind_ == ArrivalKind::fixed ? 1e6 / rate_ : draw_exponential(rng_, 1e6 / rate_);
}

void Arrivals::set_rate(double rate, TimePoint now) {
    EXA_CHECK(rate > 0 && kind_ != ArrivalKind::trace);
    const double old_interval = 1e6 / rate_;
    const auto now_us = static_cast<double>((now - start_).count());
    rate_ = rate;
    if (next_us_ <= now_us) return;
    // What is left of the wait shrinks or grows with the interval; for a Poisson process that is a fresh draw.
    next_us_ = now_us + (next_us_ - now_us) * (1e6 / rate_) / old_interval;
}

}  // namespace exa::loadgen
