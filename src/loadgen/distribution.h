// Distribution: lengths, turns and pauses as a user writes them, and values drawn from them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/rng.h"

namespace exa::loadgen {

class Distribution {
  public:
    // Always `value`.
    explicit Distribution(double value = 0) : kind_(Kind::fixed), a_(value) {}

    // "128", "uniform:LOW:HIGH", "normal:MEAN:DEVIATION", "lognormal:MEDIAN:SIGMA" (sigma of the logarithm) or
    // "exponential:MEAN"; numbers are 0 .. 10^9. errc::bad_distribution names the text and the forms.
    static Result<Distribution> parse(std::string_view text);

    // Never below 0; tails are cut at 100 times the middle.
    double draw(Rng& rng) const;
    // Rounded, and at least `least`.
    std::uint32_t draw_count(Rng& rng, std::uint32_t least) const;

    // As parse() reads it.
    std::string to_string() const;

  private:
    enum class Kind : std::uint8_t { fixed, uniform, normal, lognormal, exponential };

    Kind kind_;
    double a_ = 0;
    double b_ = 0;
};

// With the given mean.
double draw_exponential(Rng& rng, double mean);

}  // namespace exa::loadgen
