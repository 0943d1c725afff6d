#include "loadgen/config.h"

#include <array>
#include <cmath>
#include <string>

#include "loadgen/errc.h"

namespace exa::loadgen {

namespace {

template <class T>
T part_of(T whole, std::uint32_t parts, std::uint32_t part) {
    return whole / parts + (part < whole % parts ? 1 : 0);
}

std::string shown(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%g", value);
    return text;
}

}  // namespace

std::string_view to_string(ArrivalKind kind) {
    switch (kind) {
        case ArrivalKind::closed:
            return "closed";
        case ArrivalKind::fixed:
            return "fixed";
        case ArrivalKind::poisson:
            return "poisson";
        case ArrivalKind::trace:
            return "trace";
    }
    return "unknown";
}

std::string_view to_string(Api api) {
    return api == Api::chat ? "chat" : "completions";
}

std::string_view to_string(SessionIds ids) {
    switch (ids) {
        case SessionIds::none:
            return "none";
        case SessionIds::client:
            return "client";
        case SessionIds::server:
            return "server";
    }
    return "unknown";
}

std::string_view to_string(Spread spread) {
    return spread == Spread::round_robin ? "round-robin" : "random";
}

Result<void> validate(const Config& config) {
    struct Range {
        const char* flag;
        double value;
        double low;
        double high;
        const char* unit;
    };
    const auto seconds = [](Duration duration) { return static_cast<double>(duration.count()) / 1e6; };
    constexpr double day = 86'400;
    const std::array ranges{
        Range{"--concurrency", double(config.concurrency), 1, 100'000, ""},
        Range{"--rate", config.rate, 0.001, 1e6, " requests/s"},
        Range{"--trace-speed", config.trace_speed, 0.001, 1e6, ""},
        Range{"--duration", seconds(config.duration), 0.1, 30 * day, " s"},
        Range{"--warmup", seconds(config.warmup), 0, day, " s"},
        Range{"--grace", seconds(config.grace), 0, day, " s"},
        Range{"--connections", double(config.connections), 1, 100'000, ""},
        Range{"--in-flight-max", double(config.in_flight_max), 1, 100'000, ""},
        Range{"--system-prompts", double(config.system_prompts), 0, 10'000, ""},
        Range{"--slo-ttft-ms", seconds(config.slo.ttft) * 1e3, 0.001, 1e3 * day, " ms"},
        Range{"--slo-tbt-ms", seconds(config.slo.tbt) * 1e3, 0.001, 1e3 * day, " ms"},
        Range{"--slo-share", config.slo.share * 100, 0, 100, " %"},
        Range{"--connect-timeout", seconds(config.timeouts.connect), 0.01, day, " s"},
        Range{"--first-byte-timeout", seconds(config.timeouts.first_byte), 0.01, day, " s"},
        Range{"--idle-timeout", seconds(config.timeouts.idle), 0.01, day, " s"},
        Range{"--retries", double(config.retries), 0, 100, ""},
        Range{"--threads", double(config.threads), 1, 64, ""},
    };
    for (const Range& range : ranges) {
        if (range.value >= range.low && range.value <= range.high) continue;
        return error(errc::invalid_config, std::string(range.flag) + " = " + shown(range.value) + range.unit +
                                               ", must be " + shown(range.low) + " .. " + shown(range.high) +
                                               range.unit);
    }
    if (config.arrivals == ArrivalKind::closed && config.concurrency < config.threads)
        return error(errc::invalid_config, "--threads = " + std::to_string(config.threads) +
                                               ", must be at most --concurrency " + std::to_string(config.concurrency));
    return success();
}

Config share_of(const Config& config, std::uint32_t thread) {
    Config part = config;
    part.concurrency = part_of(config.concurrency, config.threads, thread);
    part.connections = std::max(1U, part_of(config.connections, config.threads, thread));
    part.in_flight_max = std::max(1U, part_of(config.in_flight_max, config.threads, thread));
    part.requests = part_of(config.requests, config.threads, thread);
    part.rate = config.rate / config.threads;
    return part;
}

}  // namespace exa::loadgen
