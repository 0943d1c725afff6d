#include "loadgen/distribution.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numbers>
#include <optional>
#include <vector>

#include "loadgen/errc.h"

namespace exa::loadgen {

namespace {

constexpr double number_max = 1e9;
constexpr double tail = 100;

std::optional<double> parse_number(std::string_view text) {
    double value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    if (!(value >= 0 && value <= number_max)) return std::nullopt;
    return value;
}

std::string shown(double value) {
    char text[32];
    const auto [end, code] = std::to_chars(text, text + sizeof text, value);
    return {text, end};
}

// Box and Muller 1958; one of its two values.
double draw_normal(Rng& rng) {
    const double radius = std::sqrt(-2 * std::log(1 - rng.unit()));
    return radius * std::cos(2 * std::numbers::pi * rng.unit());
}

}  // namespace

double draw_exponential(Rng& rng, double mean) {
    return -std::log(1 - rng.unit()) * mean;
}

Result<Distribution> Distribution::parse(std::string_view text) {
    const auto refuse = [&] {
        return error(errc::bad_distribution,
                     "'" + std::string(text) +
                         "' (N, uniform:LOW:HIGH, normal:MEAN:DEVIATION, lognormal:MEDIAN:SIGMA or exponential:MEAN, "
                         "with numbers from 0 to 1000000000)");
    };
    if (const auto value = parse_number(text)) return Distribution(*value);
    std::vector<std::string_view> parts;
    for (std::string_view rest = text;;) {
        const auto colon = rest.find(':');
        parts.push_back(rest.substr(0, colon));
        if (colon == std::string_view::npos) break;
        rest.remove_prefix(colon + 1);
    }
    Distribution made;
    std::size_t numbers = 2;
    if (parts[0] == "uniform") {
        made.kind_ = Kind::uniform;
    } else if (parts[0] == "normal") {
        made.kind_ = Kind::normal;
    } else if (parts[0] == "lognormal") {
        made.kind_ = Kind::lognormal;
    } else if (parts[0] == "exponential") {
        made.kind_ = Kind::exponential;
        numbers = 1;
    } else {
        return refuse();
    }
    if (parts.size() != numbers + 1) return refuse();
    const auto a = parse_number(parts[1]);
    const auto b = numbers == 2 ? parse_number(parts[2]) : 0.0;
    if (!a || !b || (made.kind_ == Kind::uniform && *a > *b)) return refuse();
    made.a_ = *a;
    made.b_ = *b;
    return made;
}

double Distribution::draw(Rng& rng) const {
    switch (kind_) {
        case Kind::fixed:
            return a_;
        case Kind::uniform:
            return a_ + (b_ - a_) * rng.unit();
        case Kind::normal:
            return std::clamp(a_ + b_ * draw_normal(rng), 0.0, tail * a_);
        case Kind::lognormal:
            return std::min(a_ * std::exp(b_ * draw_normal(rng)), tail * a_);
        case Kind::exponential:
            return std::min(draw_exponential(rng, a_), tail * a_);
    }
    return a_;
}

std::uint32_t Distribution::draw_count(Rng& rng, std::uint32_t least) const {
    return std::max(least, static_cast<std::uint32_t>(std::lround(std::min(draw(rng), number_max))));
}

std::string Distribution::to_string() const {
    switch (kind_) {
        case Kind::fixed:
            break;
        case Kind::uniform:
            return "uniform:" + shown(a_) + ":" + shown(b_);
        case Kind::normal:
            return "normal:" + shown(a_) + ":" + shown(b_);
        case Kind::lognormal:
            return "lognormal:" + shown(a_) + ":" + shown(b_);
        case Kind::exponential:
            return "exponential:" + shown(a_);
    }
    return shown(a_);
}

}  // namespace exa::loadgen
