#include "membership/config.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "membership/errc.h"
#include "membership/suspicion.h"

namespace exa::membership {

namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

std::string text(Duration value) {
    return std::to_string(std::chrono::duration_cast<milliseconds>(value).count()) + " ms";
}

Result<void> check_range(std::string_view name, Duration value, Duration least, Duration most) {
    if (value >= least && value <= most) return success();
    return error(errc::invalid_config,
                 std::string(name) + " = " + text(value) + ", allowed " + text(least) + " .. " + text(most));
}

Result<void> check_range(std::string_view name, std::uint64_t value, std::uint64_t least, std::uint64_t most) {
    if (value >= least && value <= most) return success();
    return error(errc::invalid_config, std::string(name) + " = " + std::to_string(value) + ", allowed " +
                                           std::to_string(least) + " .. " + std::to_string(most));
}

}  // namespace

Result<void> validate(const Config& config) {
    EXA_TRY(check_range("probe_interval", config.probe_interval, milliseconds{10}, seconds{60}));
    EXA_TRY(check_range("probe_timeout", config.probe_timeout, milliseconds{1}, config.probe_interval / 2));
    EXA_TRY(check_range("gossip_interval", config.gossip_interval, milliseconds{1}, config.probe_interval));
    EXA_TRY(check_range("load_gossip_interval", config.load_gossip_interval, config.gossip_interval, seconds{10}));
    EXA_TRY(check_range("indirect_probes", config.indirect_probes, 0, 16));
    EXA_TRY(check_range("health_max", config.health_max, 0, 64));
    // A refutation takes one spread of the suspicion and one of its answer, each a few gossip intervals.
    EXA_TRY(check_range("suspicion_min", config.suspicion_min, 6 * config.gossip_interval, hours{1}));
    EXA_TRY(check_range("suspicion_max", config.suspicion_max, config.suspicion_min, hours{1}));
    EXA_TRY(check_range("suspicion_confirmations", config.suspicion_confirmations, 0, 16));
    EXA_TRY(check_range("witnesses", config.witnesses, 0, 16));
    EXA_TRY(check_range("group_min", config.group_min, 2, 1000));
    EXA_TRY(check_range("group_wait", config.group_wait, Duration{0}, hours{1}));
    EXA_TRY(check_range("lost_after", config.lost_after, milliseconds{1}, hours{24}));
    EXA_TRY(check_range("gossip_fanout", config.gossip_fanout, 1, 16));
    EXA_TRY(check_range("retransmit_factor", config.retransmit_factor, 1, 16));
    EXA_TRY(check_range("packet_bytes", config.packet_bytes, 1000, wire::packet_bytes_max));
    EXA_TRY(check_range("sync_interval", config.sync_interval, milliseconds{100}, hours{1}));
    EXA_TRY(check_range("pull_timeout", config.pull_timeout, milliseconds{10}, hours{1}));
    EXA_TRY(check_range("seed_backoff", config.seed_backoff, milliseconds{10}, hours{1}));
    EXA_TRY(check_range("seed_backoff_max", config.seed_backoff_max, config.seed_backoff, hours{1}));
    EXA_TRY(check_range("redial_interval", config.redial_interval, milliseconds{100}, hours{1}));
    EXA_TRY(check_range("left_shown", config.left_shown, seconds{1}, hours{24}));
    EXA_TRY(check_range("lost_kept", config.lost_kept, config.lost_after, hours{24 * 365}));
    EXA_TRY(check_range("gone_max", config.gone_max, 1, 1 << 20));
    EXA_TRY(check_range("members_max", config.members_max, config.gone_max, 1 << 20));
    EXA_TRY(check_range("record_interval", config.record_interval, milliseconds{1}, hours{1}));
    EXA_TRY(check_range("record_interval_max", config.record_interval_max, config.record_interval, hours{1}));
    EXA_TRY(check_range("load_interval", config.load_interval, milliseconds{1}, hours{1}));
    EXA_TRY(check_range("load_settle", config.load_settle, config.load_interval, hours{1}));
    EXA_TRY(check_range("leave_time", config.leave_time, config.gossip_interval, hours{1}));
    if (!(config.load_change >= 0 && config.load_change <= 10))
        return error(errc::invalid_config, "load_change = " + std::to_string(config.load_change) + ", allowed 0 .. 10");
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
    // Witnesses accuse within two probes of the first accuser, well before its clock runs out at the minimum.
    const Suspicion::Bounds bounds = suspicion_bounds(config, peers);
    const bool confirmed = bounds.confirmations == 0 || config.witnesses >= config.suspicion_confirmations;
    const Duration rack = peers > config.group_min ? config.group_wait : Duration{0};
    return wait + config.probe_interval + (confirmed ? bounds.min : bounds.max) + config.probe_timeout + rack;
}

}  // namespace exa::membership
