#include "sim/run/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "base/check.h"
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
        if (cluster.peer(host).joined) return false;
        if (cluster.config().named_seeds && cluster.names().is_useless(host)) return true;
        return std::ranges::all_of(seeds, [host](Host seed) { return seed == host; });
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
    outcome.faults["met_silence"] = traffic.lost_to_silence_s.size();
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
    for (const auto& [name, effects] : outcome.faults)
        EXA_CHECK(std::ranges::find(effect_names(), name) != effect_names().end() ||
                  std::ranges::find(fault_kinds(), name) != fault_kinds().end());
    std::erase_if(outcome.faults, [](const auto& fault) { return fault.second == 0; });
}

ClusterConfig with_mutant(ClusterConfig config, Mutant mutant) {
    config.mutant = config.net.mutant = config.membership.mutant = config.gateway.mutant = config.engine.mutant =
        mutant;
    return config;
}

// Everything that takes part in one run.
class World {
  public:
    World(const Scenario& scenario, const RunOptions& options)
        : scenario_(scenario),
          options_(options),
          cluster_(with_mutant(scenario.cluster, options.mutant), options.seed, crypto_),
          oracles_(scenario, cluster_),
          injector_(scenario, cluster_, oracles_),
          traffic_(scenario, cluster_, oracles_),
          kv_(scenario, cluster_, oracles_, crypto_, options.mutant),
          values_(scenario, cluster_, oracles_, crypto_, options.mutant) {
        connect_faults();
        connect_observers();
    }

    // The stages, in order. False: the trace's listener ended the run.
    void start();
    bool measure(Outcome& outcome);
    bool let_settle(Outcome& outcome);
    void check_end();
    void report(Outcome& outcome);

  private:
    void connect_faults();
    void connect_observers();

    const Scenario& scenario_;
    const RunOptions& options_;
    const io::crypto::OpenSslCrypto crypto_;
    Cluster cluster_;
    Oracles oracles_;
    FaultInjector injector_;
    Workload traffic_;
    KvCluster kv_;
    ValueCluster values_;
};

void World::connect_faults() {
    injector_.drive_kv(
        [this](Host host, const Fault& fault) {
            return fault.kind == FaultKind::kv_rot ? kv_.rot(host, fault.chance) : kv_.misdirect(host);
        },
        [this](Host host) {
            kv_.wipe(host);
            values_.wipe(host);
        });
    injector_.drive_clients([this](double factor) { traffic_.set_factor(factor); },
                            [this](double share) { return traffic_.disconnect(share); });
    cluster_.on_handled([this](Host from, const Peer& to, const Bytes& bytes) { injector_.remember(from, to, bytes); });
}

void World::connect_observers() {
    cluster_.watch(&oracles_);
    cluster_.trace().listen(options_.listener);
    cluster_.tap(options_.tap);
    cluster_.filter([this](Host from, Host, bool link, Bytes& bytes) {
        oracles_.check_length(from, link, bytes.size());
        return true;
    });
    cluster_.handle_with(EventKind::sweep, [this](const Event&) {
        oracles_.sweep(cluster_.now());
        if (options_.on_look) options_.on_look(cluster_);
        cluster_.push(cluster_.now() + sweep_period, EventKind::sweep);
    });
}

void World::start() {
    Rng starts = cluster_.streams().stream("start");
    const auto spread = static_cast<std::uint64_t>(scenario_.start_spread.count());
    for (Host host = 0; host < cluster_.size(); ++host)
        cluster_.boot(host, WorldTime{Duration{static_cast<Duration::rep>(starts.below(spread + 1))}});
    cluster_.push(WorldTime{sweep_period}, EventKind::sweep);
    injector_.start();
    traffic_.start();
    kv_.start();
    values_.start();
}

bool World::measure(Outcome& outcome) {
    bool whole = cluster_.run_until(WorldTime{scenario_.measure_from});
    if (options_.on_measure) options_.on_measure();
    const Network& network = cluster_.network();
    const std::uint64_t bytes = network.datagram_bytes();
    const std::uint64_t packets = network.datagrams();
    const std::uint64_t link_bytes = network.link_bytes();
    whole = whole && cluster_.run_until(WorldTime{scenario_.duration});
    if (options_.on_measured) options_.on_measured();
    const double shares =
        static_cast<double>(cluster_.size()) * seconds_of(scenario_.duration - scenario_.measure_from);
    if (shares > 0) {
        outcome.bytes_per_peer_s = static_cast<double>(network.datagram_bytes() - bytes) / shares;
        outcome.packets_per_peer_s = static_cast<double>(network.datagrams() - packets) / shares;
        outcome.link_bytes_per_peer_s = static_cast<double>(network.link_bytes() - link_bytes) / shares;
    }
    injector_.freeze();
    oracles_.end_measuring();
    traffic_.stop();
    kv_.stop();
    values_.stop();
    return whole;
}

bool World::let_settle(Outcome& outcome) {
    bool whole = settle(scenario_, cluster_, oracles_, kv_, values_, outcome);
    // Requests under way have their time to end, too.
    const WorldTime last = cluster_.now() + scenario_.load.deadline + 10 * sweep_period;
    while (whole && traffic_.under_way() > 0 && cluster_.now() < last)
        whole = cluster_.run_until(cluster_.now() + sweep_period);
    return whole;
}

void World::check_end() {
    traffic_.check_end();
    oracles_.check_bounds();
}

void World::report(Outcome& outcome) {
    outcome.trace_hash = cluster_.trace().hash();
    outcome.trace_entries = cluster_.trace().entries();
    outcome.events = cluster_.events();
    outcome.virtual_time = cluster_.now().time_since_epoch();
    outcome.violations = oracles_.violations();
    outcome.violation_count = oracles_.violation_count();
    outcome.measured = oracles_.measured();
    outcome.traffic = traffic_.counters();
    collect_effects(scenario_, cluster_, injector_, outcome.traffic, kv_, values_.counters(), outcome);
    if (outcome.violation_count > 0)
        outcome.verdict = Verdict::invariant;
    else if (!outcome.liveness.empty())
        outcome.verdict = Verdict::liveness;
    else if (!outcome.without_effect.empty())
        outcome.verdict = Verdict::no_effect;
}

}  // namespace

Outcome run(const Scenario& scenario, const RunOptions& options) {
    World world(scenario, options);
    Outcome outcome;
    world.start();
    bool whole = world.measure(outcome);
    whole = whole && world.let_settle(outcome);
    if (whole) world.check_end();
    world.report(outcome);
    return outcome;
}

}  // namespace exa::sim
