#include "app/config/live_config.h"

#include <utility>

#include "app/config/options.h"

namespace exa::app::config {

Result<ReloadReport> LiveConfig::reload(Log& log) {
    const std::lock_guard one_at_a_time(reload_mutex_);
    auto report = reload_values();
    if (!report) {
        log.error("config", "the configuration cannot be used: nothing changed", {{"reason", report.error().detail}});
        return report;
    }
    for (const OptionChange& change : report.value().changed)
        log.info("config", "an option changed",
                 {{"option", change.name}, {"before", change.before}, {"after", change.after}});
    for (const OptionChange& change : report.value().needs_restart)
        log.warn("config", "an option changes only with a restart",
                 {{"option", change.name}, {"now", change.before}, {"in_file", change.after}});
    return report;
}

Result<ReloadReport> LiveConfig::reload_values() {
    EXA_TRY(const EffectiveConfig next, effective_config(inputs_));
    ReloadReport report;
    EffectiveConfig merged = now();
    const auto& options = peer_options();
    for (std::size_t at = 0; at < options.size(); ++at) {
        const PeerOption& option = options[at];
        std::string before = option.get(merged.values);
        std::string after = option.get(next.values);
        const bool is_same = before == after;
        if (is_same || option.is_live) merged.sources[at] = next.sources[at];
        if (is_same) continue;
        if (option.is_live) option.set(merged.values, after);
        (option.is_live ? report.changed : report.needs_restart)
            .push_back({option.name, std::move(before), std::move(after)});
    }
    {
        const std::lock_guard lock(mutex_);
        now_ = merged;
    }
    if (!report.changed.empty() && apply_) apply_(merged.values);
    return report;
}

EffectiveConfig LiveConfig::now() const {
    const std::lock_guard lock(mutex_);
    return now_;
}

}  // namespace exa::app::config
