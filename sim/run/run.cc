#include "sim/run/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "io/crypto/openssl_crypto.h"
#include "sim/faults/fault_injector.h"
#include "sim/kv/kv_cluster.h"
#include "sim/kv/value_cluster.h"

namespace exa::sim {

namespace {

constexpr std::chrono::seconds sweep_period{1};
// The core of the liveness phase must agree with the truth at so many looks in a row.
constexpr std::uint32_t settled_looks = 3;
// How large a core should at least be, and how often another one is tried for that.
constexpr std::size_t core_least = 3;
constexpr std::size_t core_tries = 8;

// Those whose name another running peer bears, too: one of the two has to stop (M4).
std::set<Host> namesakes(const Cluster& cluster) {
    std::map<std::string_view, Host> bearers;
    std::set<Host> found;
    for (Host host = 0; host < cluster.size(); ++host) {
        if (!cluster.peer(host).is_up()) continue;
        const auto [first, is_only] = bearers.try_emplace(cluster.peer(host).name, host);
        if (!is_only) found.insert({host, first->second});
    }
    return found;
}

// A random set of peers that are up, punctual, reach one another and bear names of their own, as the world is now: at
// least half of a clique that grows from a random first one. Of three or more, where eight tries find so many.
std::vector<Host> pick_core(const Cluster& cluster, Rng& rng) {
    const std::set<Host> doubles = namesakes(cluster);
    std::vector<Host> candidates;
    for (Host host = 0; host < cluster.size(); ++host)
        if (cluster.peer(host).is_punctual() && !cluster.peer(host).is_draining() && !doubles.contains(host))
            candidates.push_back(host);
    const auto reach = [&](Host a, Host b) {
        return cluster.network().reaches(a, b, true) && cluster.network().reaches(b, a, true);
    };
    std::vector<Host> core;
    for (std::size_t turn = 0; turn < core_tries && core.size() < core_least; ++turn) {
        rng.shuffle(std::span(candidates));
        std::vector<Host> clique;
        for (const Host host : candidates)
            if (std::ranges::all_of(clique, [&](Host other) { return reach(host, other); })) clique.push_back(host);
        if (clique.size() > core.size()) core = std::move(clique);
    }
    const std::size_t least = std::max(std::min(core_least, core.size()), (core.size() + 1) / 2);
    core.resize(least + rng.below(core.size() - least + 1));
    // Nobody could tell a newcomer of the cluster that has no seed but itself in the core.
    std::vector<Host> seeds;
    std::ranges::copy_if(core, std::back_inserter(seeds), [&](Host host) { return host < cluster.config().seeds; });
    std::erase_if(core, [&](Host host) {
        return !cluster.peer(host).joined && std::ranges::all_of(seeds, [host](Host seed) { return seed == host; });
    });
    std::ranges::sort(core);
    return core;
}

// No process starts any more. The rest stays as it is, or half of it crashes, too: every other time.
void freeze(Cluster& cluster, const std::vector<Host>& core, Rng& rng) {
    cluster.freeze_boots();
    if (rng.below(2) == 0) return;
    for (Host host = 0; host < cluster.size(); ++host)
        if (!std::ranges::binary_search(core, host) && rng.below(2) == 0) cluster.crash(host);
}

bool settle(const Scenario& scenario, Cluster& cluster, Oracles& oracles, KvCluster& kv, ValueCluster& values,
            Outcome& outcome) {
    Rng rng = cluster.streams().stream("core");
    const std::vector<Host> core = pick_core(cluster, rng);
    freeze(cluster, core, rng);
    const WorldTime start = cluster.now();
    std::uint32_t looks = 0;
    while (cluster.now() - start < scenario.bounds.settle) {
        if (!cluster.run_until(cluster.now() + sweep_period)) return false;
        looks = oracles.is_settled(core, outcome.liveness) && kv.is_settled(core, outcome.liveness) &&
                        values.is_settled(core, outcome.liveness)
                    ? looks + 1
                    : 0;
        if (looks < settled_looks) continue;
        oracles.measured().settle = seconds_of(cluster.now() - start - sweep_period * (settled_looks - 1));
        outcome.liveness.clear();
        oracles.check_rings(core);
        return true;
    }
    return true;
}

void collect_effects(const Scenario& scenario, const Cluster& cluster, const FaultInjector& injector,
                     const TrafficCounters& traffic, const KvCluster& kv, const ValueCounters& values,
                     Outcome& outcome) {
    outcome.faults = injector.effects_by_kind();
    outcome.faults["restart_refused"] = cluster.boots_refused();
    outcome.faults["refused"] = cluster.lives_refused();
    outcome.faults["socket_overflow"] = cluster.datagrams_overflowed();
    outcome.faults["client_gone"] = traffic.abandoned;
    outcome.faults["busy"] = traffic.busy;
    outcome.faults["resumed"] = traffic.resumed;
    outcome.faults["client_error"] = traffic.client_errors;
    outcome.faults["sent_away"] = traffic.refused;
    outcome.faults["waited"] = traffic.waited;
    outcome.faults["unfit"] = traffic.unfit;
    outcome.faults["moved_off_suspect"] = traffic.moved;
    outcome.faults["progress_credit"] = traffic.progress_credits;
    const KvCounters segments = kv.counters();
    const KvStoreEffects stores = kv.effects();
    outcome.faults["kv_turns"] = segments.turns;
    outcome.faults["kv_handed_out"] = segments.handed_out;
    outcome.faults["kv_acknowledged"] = segments.acknowledged;
    outcome.faults["kv_corrupt"] = segments.corrupt + stores.dropped;
    outcome.faults["kv_repaired"] = segments.repaired;
    outcome.faults["kv_healed"] = segments.healed;
    outcome.faults["kv_evicted"] = stores.evicted;
    outcome.faults["kv_refused"] = stores.refused_full;
    outcome.faults["kv_lost"] = stores.lost;
    outcome.faults["values_set"] = values.sets;
    outcome.faults["values_removed"] = values.removed;
    outcome.faults["values_got"] = values.got;
    outcome.faults["values_from_peers"] = values.from_peers;
    outcome.faults["values_missed"] = values.misses;
    outcome.faults["values_unsure"] = values.unsure;
    outcome.faults["values_checked"] = values.checked;
    outcome.faults["values_agreed"] = values.agreed;
    outcome.faults["stranger"] = outcome.measured.strangers;
    outcome.faults["placement"] = outcome.measured.placements;
    outcome.faults["control_behind_data"] = cluster.network().control_behind_data();
    outcome.faults["false_death"] = outcome.measured.false_deaths + outcome.measured.excused_deaths;
    outcome.faults["detection"] = outcome.measured.detect_all.size();
    outcome.faults["suspicion"] = outcome.measured.suspicions;
    for (std::size_t entry = 0; entry < scenario.plan.size(); ++entry)
        if (injector.effects()[entry] == 0)
            outcome.without_effect.push_back(fmt::format("fault.{} ({})", entry, to_string(scenario.plan[entry].kind)));
    for (const std::string& name : scenario.must_happen)
        if (outcome.faults[name] == 0) outcome.without_effect.push_back(name);
    std::erase_if(outcome.faults, [](const auto& fault) { return fault.second == 0; });
}

}  // namespace

Outcome run(const Scenario& scenario, const RunOptions& options) {
    const io::OpenSslCrypto crypto;
    ClusterConfig config = scenario.cluster;
    config.net.mutant = options.mutant;
    config.mutant = options.mutant;
    config.membership.mutant = options.mutant;
    config.gateway.mutant = options.mutant;
    config.engine.mutant = options.mutant;
    Cluster cluster(config, options.seed, crypto);
    Oracles oracles(scenario, cluster);
    FaultInjector injector(scenario, cluster, oracles);
    Workload traffic(scenario, cluster, oracles);
    KvCluster kv(scenario, cluster, oracles, crypto, options.mutant);
    ValueCluster values(scenario, cluster, oracles, crypto, options.mutant);
    injector.drive_kv(
        [&](Host host, const Fault& fault) {
            return fault.kind == FaultKind::kv_rot ? kv.rot(host, fault.chance) : kv.misdirect(host);
        },
        [&](Host host) {
            kv.wipe(host);
            values.wipe(host);
        });
    injector.drive_clients([&](double factor) { traffic.set_factor(factor); },
                           [&](double share) { return traffic.disconnect(share); });
    cluster.watch(&oracles);
    cluster.trace().listen(options.listener);
    cluster.tap(options.tap);
    cluster.filter([&](Host from, Host, bool link, Bytes& bytes) {
        oracles.check_length(from, link, bytes.size());
        return true;
    });
    cluster.on_handled([&](Host from, const Peer& to, const Bytes& bytes) { injector.remember(from, to, bytes); });
    cluster.handle_with(EventKind::sweep, [&](const Event&) {
        oracles.sweep(cluster.now());
        if (options.on_look) options.on_look(cluster);
        cluster.push(cluster.now() + sweep_period, EventKind::sweep);
    });

    Rng starts = cluster.streams().stream("start");
    const auto spread = static_cast<std::uint64_t>(scenario.start_spread.count());
    for (Host host = 0; host < cluster.size(); ++host)
        cluster.boot(host, WorldTime{Duration{static_cast<Duration::rep>(starts.below(spread + 1))}});
    cluster.push(WorldTime{sweep_period}, EventKind::sweep);
    injector.start();
    traffic.start();
    kv.start();
    values.start();

    Outcome outcome;
    bool whole = cluster.run_until(WorldTime{scenario.measure_from});
    if (options.on_measure) options.on_measure();
    const Network& network = cluster.network();
    const std::uint64_t bytes = network.datagram_bytes();
    const std::uint64_t packets = network.datagrams();
    const std::uint64_t link_bytes = network.link_bytes();
    whole = whole && cluster.run_until(WorldTime{scenario.duration});
    if (options.on_measured) options.on_measured();
    const double shares = static_cast<double>(cluster.size()) * seconds_of(scenario.duration - scenario.measure_from);
    if (shares > 0) {
        outcome.bytes_per_peer_s = static_cast<double>(network.datagram_bytes() - bytes) / shares;
        outcome.packets_per_peer_s = static_cast<double>(network.datagrams() - packets) / shares;
        outcome.link_bytes_per_peer_s = static_cast<double>(network.link_bytes() - link_bytes) / shares;
    }
    injector.freeze();
    oracles.end_measuring();
    traffic.stop();
    kv.stop();
    values.stop();
    if (whole) whole = settle(scenario, cluster, oracles, kv, values, outcome);
    // Requests under way have their time to end, too.
    const WorldTime last = cluster.now() + scenario.load.deadline + 10 * sweep_period;
    while (whole && traffic.under_way() > 0 && cluster.now() < last)
        whole = cluster.run_until(cluster.now() + sweep_period);
    if (whole) {
        traffic.check_end();
        oracles.check_bounds();
    }

    outcome.trace_hash = cluster.trace().hash();
    outcome.trace_entries = cluster.trace().entries();
    outcome.events = cluster.events();
    outcome.virtual_time = cluster.now().time_since_epoch();
    outcome.violations = oracles.violations();
    outcome.violation_count = oracles.violation_count();
    outcome.measured = oracles.measured();
    outcome.traffic = traffic.counters();
    collect_effects(scenario, cluster, injector, outcome.traffic, kv, values.counters(), outcome);
    if (outcome.violation_count > 0)
        outcome.verdict = Verdict::invariant;
    else if (!outcome.liveness.empty())
        outcome.verdict = Verdict::liveness;
    else if (!outcome.without_effect.empty())
        outcome.verdict = Verdict::no_effect;
    return outcome;
}

}  // namespace exa::sim
