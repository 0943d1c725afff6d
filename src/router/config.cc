#include "router/config.h"

#include <string>

#include "router/errc.h"
#include "router/options.h"

namespace exa::router {

namespace {

Error below(const char* name, Duration value, const char* least_name, Duration least) {
    using Ms = std::chrono::duration<std::int64_t, std::milli>;
    const auto text = [](Duration time) { return std::to_string(std::chrono::duration_cast<Ms>(time).count()); };
    return error(errc::invalid_config,
                 std::string(name) + ": '" + text(value) + "' is less than " + least_name + ", " + text(least));
}

}  // namespace

Result<void> validate(const Config& config) {
    if (std::string wrong = find_out_of_range(options(), config); !wrong.empty())
        return error(errc::invalid_config, std::move(wrong));
    if (config.breaker_open_max < config.breaker_open)
        return below("breaker_open_max_ms", config.breaker_open_max, "breaker_open_ms", config.breaker_open);
    if (config.peer_backoff_max < config.peer_backoff)
        return below("peer_backoff_max_ms", config.peer_backoff_max, "peer_backoff_ms", config.peer_backoff);
    return success();
}

}  // namespace exa::router
