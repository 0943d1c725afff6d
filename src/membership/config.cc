#include "membership/config.h"

#include <string>
#include <string_view>
#include <variant>

#include "base/check.h"
#include "membership/errc.h"
#include "membership/options.h"
#include "membership/suspicion.h"

namespace exa::membership {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::string text(Duration value) {
    return std::to_string(std::chrono::duration_cast<milliseconds>(value).count()) + " ms";
}

std::string text(auto value) {
    return std::to_string(value);
}

template <class T>
Result<void> check_range(std::string_view name, T value, T min, T max) {
    if (value >= min && value <= max) return success();
    return error(errc::invalid_config,
                 std::string(name) + " = " + text(value) + ", allowed " + text(min) + " .. " + text(max));
}

Result<void> check_ranges(const Config& config) {
    for (const Option& option : options()) {
        const auto check = [&](const auto& field) {
            return check_range(option.name, config.*field.member, field.min, field.max);
        };
        EXA_TRY(std::visit(check, option.field));
    }
    return success();
}

Result<void> check_relations(const Config& config) {
    const auto fail = [](std::string_view name, auto value, std::string_view bound, auto limit) {
        return error(errc::invalid_config, std::string(name) + " = " + text(value) + ", allowed at " +
                                               std::string(bound) + ' ' + text(limit));
    };
    const auto at_most = [&](std::string_view name, auto value, auto max) -> Result<void> {
        if (value <= max) return success();
        return fail(name, value, "most", max);
    };
    const auto at_least = [&](std::string_view name, auto value, auto min) -> Result<void> {
        if (value >= min) return success();
        return fail(name, value, "least", min);
    };
    EXA_TRY(at_most("probe_timeout", config.probe_timeout, config.probe_interval / 2));
    EXA_TRY(at_most("gossip_interval", config.gossip_interval, config.probe_interval));
    EXA_TRY(at_least("load_gossip_interval", config.load_gossip_interval, config.gossip_interval));
    // A refutation takes one spread of the suspicion and one of its answer, each a few gossip intervals.
    EXA_TRY(at_least("suspicion_min", config.suspicion_min, 6 * config.gossip_interval));
    EXA_TRY(at_least("suspicion_max", config.suspicion_max, config.suspicion_min));
    EXA_TRY(at_least("seed_backoff_max", config.seed_backoff_max, config.seed_backoff));
    EXA_TRY(at_least("lost_retention", config.lost_retention, config.lost_after));
    EXA_TRY(at_least("members_max", config.members_max, config.tombstones_max));
    EXA_TRY(at_least("record_interval_max", config.record_interval_max, config.record_interval));
    EXA_TRY(at_least("load_interval_max", config.load_interval_max, config.load_interval));
    EXA_TRY(at_least("leave_propagation", config.leave_propagation, config.gossip_interval));
    return success();
}

}  // namespace

Config lan() {
    return {};
}

Config wan() {
    Config config;
    config.probe_interval = seconds{2};
    config.probe_timeout = seconds{1};
    config.indirect_probes = 4;
    config.suspicion_min = seconds{8};
    config.suspicion_max = seconds{16};
    config.rack_verdict_wait = seconds{5};
    config.dead_after_max = seconds{30};
    config.lost_after = seconds{120};
    config.gossip_interval = milliseconds{300};
    config.gossip_fanout = 4;
    config.load_gossip_interval = milliseconds{1200};
    config.retransmit_factor = 5;
    config.sync_interval = seconds{30};
    config.pull_timeout = seconds{6};
    config.seed_backoff = seconds{1};
    config.seed_backoff_max = seconds{30};
    config.redial_interval = seconds{15};
    config.left_retention = seconds{180};
    config.leave_propagation = seconds{3};
    return config;
}

Config hpc() {
    Config config;
    config.probe_interval = milliseconds{500};
    config.probe_timeout = milliseconds{250};
    config.suspicion_min = milliseconds{1500};
    config.suspicion_max = seconds{3};
    config.out_of_turn_probers = 8;
    config.rack_verdict_wait = milliseconds{1500};
    config.dead_after_max = seconds{6};
    config.gossip_interval = milliseconds{50};
    config.gossip_fanout = 4;
    config.load_gossip_interval = milliseconds{200};
    config.sync_interval = seconds{5};
    config.pull_timeout = seconds{1};
    config.seed_backoff = milliseconds{250};
    config.seed_backoff_max = seconds{5};
    config.redial_interval = milliseconds{2500};
    return config;
}

Config config_of(Profile profile) {
    switch (profile) {
        case Profile::lan:
            return lan();
        case Profile::wan:
            return wan();
        case Profile::hpc:
            return hpc();
    }
    EXA_CHECK(false);
}

Result<void> validate(const Config& config) {
    EXA_TRY(check_ranges(config));
    EXA_TRY(check_relations(config));
    for (const std::size_t peers : {std::size_t{2}, std::size_t{3}, std::size_t{5}, std::size_t{256}})
        if (const Duration worst = worst_detection(config, peers); worst > config.dead_after_max)
            return error(errc::invalid_config, "probes and suspicion of " + std::to_string(peers) +
                                                   " peers add up to " + text(worst) +
                                                   ", allowed dead_after_max = " + text(config.dead_after_max));
    return success();
}

Duration worst_detection(const Config& config, std::size_t peers) {
    if (peers < 2) return Duration{0};
    const Duration wait = config.probe_interval * (peers == 2 ? 1 : 3);
    // Out-of-turn probers accuse within two probes of the first accuser, well before its clock runs out at the minimum.
    const Suspicion::Bounds bounds = suspicion_bounds(config, peers);
    const bool confirmed = bounds.confirmations == 0 || config.out_of_turn_probers >= config.suspicion_confirmations;
    const Duration rack = peers > config.rack_suspects_min ? config.rack_verdict_wait : Duration{0};
    return wait + config.probe_interval + (confirmed ? bounds.min : bounds.max) + config.probe_timeout + rack;
}

}  // namespace exa::membership
