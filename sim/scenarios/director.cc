#include "sim/scenarios/director.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "wire/gossip.h"

namespace exa::sim {

namespace {

constexpr std::chrono::milliseconds leave_look_period{500};
constexpr std::size_t past_max = 4096;

bool is_rule(FaultKind kind) {
    switch (kind) {
        case FaultKind::cut:
        case FaultKind::cut_udp:
        case FaultKind::loss:
        case FaultKind::duplicate:
        case FaultKind::reorder:
        case FaultKind::corrupt:
        case FaultKind::delay:
        case FaultKind::clog:
        case FaultKind::bandwidth:
            return true;
        default:
            return false;
    }
}

bool is_attack(FaultKind kind) {
    return kind == FaultKind::garbage || kind == FaultKind::replay || kind == FaultKind::forge ||
           kind == FaultKind::oversize;
}

RuleKind rule_kind(FaultKind kind) {
    switch (kind) {
        case FaultKind::cut_udp:
            return RuleKind::cut_udp;
        case FaultKind::loss:
            return RuleKind::loss;
        case FaultKind::duplicate:
            return RuleKind::duplicate;
        case FaultKind::reorder:
            return RuleKind::reorder;
        case FaultKind::corrupt:
            return RuleKind::corrupt;
        case FaultKind::delay:
            return RuleKind::delay;
        case FaultKind::clog:
            return RuleKind::clog;
        case FaultKind::bandwidth:
            return RuleKind::bandwidth;
        default:
            return RuleKind::cut;
    }
}

}  // namespace

Director::Director(const Scenario& scenario, Cluster& cluster, Oracles& oracles, Mutant mutant)
    : scenario_(scenario), cluster_(cluster), oracles_(oracles), mutant_(mutant), effects_(scenario.plan.size()) {
    for (std::size_t entry = 0; entry < scenario.plan.size(); ++entry) {
        rngs_.push_back(cluster.streams().stream("fault", entry));
        remembers_ = remembers_ || scenario.plan[entry].kind == FaultKind::replay ||
                     scenario.plan[entry].kind == FaultKind::oversize;
    }
    cluster.handle_with(EventKind::fault, [this](const Event& event) { begin(event); });
    cluster.handle_with(EventKind::heal, [this](const Event& event) { end(event); });
}

void Director::start() {
    for (std::size_t entry = 0; entry < scenario_.plan.size(); ++entry) {
        const Fault& fault = scenario_.plan[entry];
        for (std::uint32_t time = 0; time < fault.times; ++time)
            cluster_.push(WorldTime{fault.at + fault.every * time}, EventKind::fault, 0, entry);
    }
}

void Director::remember(Host from, const Peer& to, const Bytes& bytes) {
    if (!remembers_) return;
    if (past_.size() < past_max) {
        past_.push_back({from, to.host, to.boot, bytes});
        return;
    }
    past_[past_next_] = {from, to.host, to.boot, bytes};
    past_next_ = (past_next_ + 1) % past_max;
}

std::map<std::string, std::uint64_t> Director::effects_by_kind() const {
    std::map<std::string, std::uint64_t> sums;
    for (std::size_t entry = 0; entry < effects_.size(); ++entry)
        sums[std::string(to_string(scenario_.plan[entry].kind))] += effects_[entry];
    return sums;
}

std::vector<Host> Director::pick(std::size_t entry) {
    const Fault& fault = scenario_.plan[entry];
    Rng& rng = rngs_[entry];
    if (!fault.hosts.empty()) return fault.hosts;
    std::vector<Host> candidates;
    const bool needs_up = fault.kind == FaultKind::crash || fault.kind == FaultKind::leave ||
                          fault.kind == FaultKind::pause || fault.kind == FaultKind::name_steal ||
                          fault.kind == FaultKind::key_add || fault.kind == FaultKind::key_use ||
                          fault.kind == FaultKind::key_remove;
    for (Host host = 0; host < cluster_.size(); ++host)
        if (!needs_up || cluster_.peer(host).is_up()) candidates.push_back(host);
    if (fault.rack != -1) {
        const auto racks = (cluster_.size() + scenario_.cluster.rack_size - 1) / scenario_.cluster.rack_size;
        const std::uint64_t rack = fault.rack >= 0 ? static_cast<std::uint64_t>(fault.rack) : rng.below(racks);
        std::erase_if(candidates, [&](Host host) { return host / scenario_.cluster.rack_size != rack; });
        return candidates;
    }
    std::size_t wanted = candidates.size();
    if (fault.count > 0)
        wanted = fault.count;
    else if (fault.share > 0)
        wanted = static_cast<std::size_t>(fault.share * static_cast<double>(cluster_.size()) + 0.5);
    else
        return candidates;
    wanted = std::min(wanted, candidates.size());
    for (std::size_t i = 0; i < wanted; ++i) std::swap(candidates[i], candidates[i + rng.below(candidates.size() - i)]);
    candidates.resize(wanted);
    std::ranges::sort(candidates);
    return candidates;
}

Rule Director::rule(const Fault& fault, const Active& active) const {
    Rule rule;
    rule.kind = rule_kind(fault.kind);
    rule.chance = fault.chance;
    rule.time = fault.time;
    rule.rate = fault.rate;
    // What does not end before the liveness phase does not end.
    const bool ends = fault.kind != FaultKind::bandwidth || active.until <= WorldTime{scenario_.duration};
    rule.until = ends ? active.until : world_never;
    rule.from.resize(cluster_.size());
    rule.to.resize(cluster_.size());
    for (const Host host : active.hosts) rule.from[host] = 1;
    if (!fault.to.empty()) {
        for (const Host host : fault.to) rule.to[host] = 1;
    } else if (fault.kind == FaultKind::cut ||
               (fault.kind == FaultKind::cut_udp && active.hosts.size() < cluster_.size())) {
        for (Host host = 0; host < cluster_.size(); ++host) rule.to[host] = rule.from[host] == 0 ? 1 : 0;
    } else {
        rule.to.assign(cluster_.size(), 1);
    }
    return rule;
}

void Director::begin(const Event& event) {
    if (frozen_) return;
    const auto entry = static_cast<std::size_t>(event.arg);
    const Fault& fault = scenario_.plan[entry];
    Active active{.entry = entry, .hosts = pick(entry), .rules = {}, .until = world_never};
    if (fault.lasts > Duration{0}) active.until = cluster_.now() + fault.lasts;
    const std::uint64_t number = next_active_++;
    apply(entry, active);
    if (is_attack(fault.kind)) {
        attack(number, active);
    } else if (active.until != world_never) {
        cluster_.push(active.until, EventKind::heal, 0, number);
    }
    active_.emplace(number, std::move(active));
}

void Director::apply(std::size_t entry, Active& active) {
    const Fault& fault = scenario_.plan[entry];
    std::uint64_t& effects = effects_[entry];
    if (is_rule(fault.kind)) {
        Rule forward = rule(fault, active);
        const bool both = !fault.one_way && (fault.kind != FaultKind::bandwidth);
        active.rules.push_back(cluster_.fabric().add(forward, &effects));
        if (both) {
            std::swap(forward.from, forward.to);
            const bool is_same = forward.from == forward.to;
            // A way inside the chosen set must not count twice.
            if (!is_same && fault.to.empty() && fault.kind != FaultKind::cut && fault.kind != FaultKind::cut_udp)
                for (const Host host : active.hosts) forward.from[host] = 0;
            if (!is_same) active.rules.push_back(cluster_.fabric().add(std::move(forward), &effects));
        }
        return;
    }
    for (const Host host : active.hosts) {
        Peer& peer = cluster_.peer(host);
        switch (fault.kind) {
            case FaultKind::crash:
                effects += peer.boot != 0 ? 1 : 0;
                cluster_.crash(host);
                if (fault.keep_disk) break;
                cluster_.wipe(host);
                if (wipe_kv_) wipe_kv_(host);
                break;
            case FaultKind::leave:
                effects += peer.is_up() ? 1 : 0;
                cluster_.leave(host);
                break;
            case FaultKind::pause:
                effects += peer.is_up() ? 1 : 0;
                cluster_.pause(host);
                break;
            case FaultKind::slow:
                ++effects;
                cluster_.set_input_cost(host, fault.time);
                break;
            case FaultKind::clock_jump:
                ++effects;
                cluster_.jump_clock(host, fault.time);
                break;
            case FaultKind::drift:
                ++effects;
                cluster_.set_drift(host, fault.ppm);
                break;
            case FaultKind::name_steal: {
                // Alone it has nobody to steal from: no effect.
                if (cluster_.size() < 2) break;
                const Host victim = (host + 1 + static_cast<Host>(rngs_[entry].below(cluster_.size() - 1))) %
                                    static_cast<Host>(cluster_.size());
                effects += peer.boot != 0 && cluster_.peer(victim).is_up() ? 1 : 0;
                cluster_.crash(host);
                peer.name = cluster_.peer(victim).name;
                cluster_.boot(host, cluster_.now());
                break;
            }
            case FaultKind::key_add:
                effects += cluster_.order_keys(host, Cluster::KeyStep::add) ? 1 : 0;
                break;
            case FaultKind::key_use:
                effects += cluster_.order_keys(host, Cluster::KeyStep::use) ? 1 : 0;
                break;
            case FaultKind::key_remove:
                effects += cluster_.order_keys(host, Cluster::KeyStep::remove) ? 1 : 0;
                break;
            case FaultKind::kv_rot:
            case FaultKind::kv_misdirect:
                if (harm_kv_) effects += harm_kv_(host, fault);
                break;
            case FaultKind::disk_full:
                peer.disk.faults().full = true;
                break;
            case FaultKind::disk_lies:
                peer.disk.faults().lies = true;
                break;
            case FaultKind::disk_corrupt:
                peer.disk.faults().corrupt = true;
                break;
            case FaultKind::disk_slow:
                ++effects;
                peer.disk.faults().sync_time = fault.time;
                break;
            default:
                break;
        }
    }
    if (fault.kind == FaultKind::load && factor_) {
        ++effects;
        factor_(fault.rate);
    }
    if (fault.kind == FaultKind::disconnect && disconnect_) effects += disconnect_(fault.chance);
}

void Director::end(const Event& event) {
    if (frozen_) return;
    const auto at = active_.find(event.arg);
    if (at == active_.end()) return;
    Active& active = at->second;
    const Fault& fault = scenario_.plan[active.entry];
    if (is_attack(fault.kind)) {
        attack(event.arg, active);
        return;
    }
    // A long answer holds a leaving peer up; it starts again when it has left.
    if (fault.kind == FaultKind::leave &&
        std::ranges::any_of(active.hosts, [this](Host host) { return cluster_.peer(host).is_draining(); })) {
        cluster_.push(cluster_.now() + leave_look_period, EventKind::heal, 0, event.arg);
        return;
    }
    for (const std::uint32_t number : active.rules) cluster_.fabric().remove(number);
    for (const Host host : active.hosts) {
        Peer& peer = cluster_.peer(host);
        switch (fault.kind) {
            case FaultKind::crash:
            case FaultKind::leave:
                if (peer.boot != 0) break;
                if (fault.kind == FaultKind::leave && !fault.keep_disk) cluster_.wipe(host);
                cluster_.boot(host, cluster_.now());
                break;
            case FaultKind::pause:
                cluster_.resume(host);
                break;
            case FaultKind::slow:
                cluster_.set_input_cost(host, Duration{0});
                break;
            case FaultKind::clock_jump:
                cluster_.jump_clock(host, -fault.time);
                break;
            case FaultKind::drift:
                cluster_.set_drift(host, 0);
                break;
            case FaultKind::name_steal:
                cluster_.crash(host);
                peer.name = Cluster::name_of(host);
                cluster_.boot(host, cluster_.now());
                break;
            case FaultKind::disk_full:
                effects_[active.entry] += peer.disk.effects().writes_refused;
                peer.disk.faults().full = false;
                break;
            case FaultKind::disk_lies:
                effects_[active.entry] += peer.disk.effects().syncs_ignored;
                peer.disk.faults().lies = false;
                break;
            case FaultKind::disk_corrupt:
                effects_[active.entry] += peer.disk.effects().reads_corrupted;
                peer.disk.faults().corrupt = false;
                break;
            case FaultKind::disk_slow:
                peer.disk.faults().sync_time = DiskFaults{}.sync_time;
                break;
            default:
                break;
        }
    }
    if (fault.kind == FaultKind::load && factor_) factor_(1);
    // A process that starts again heals nothing: nobody was kept from knowing.
    if (is_rule(fault.kind) || fault.kind == FaultKind::pause || fault.kind == FaultKind::slow ||
        fault.kind == FaultKind::clock_jump || fault.kind == FaultKind::drift)
        oracles_.on_heal(cluster_.now());
    active_.erase(at);
}

void Director::attack(std::uint64_t number, Active& active) {
    const Fault& fault = scenario_.plan[active.entry];
    Rng& rng = rngs_[active.entry];
    if (cluster_.now() >= active.until || active.hosts.empty()) return;
    const Host to = active.hosts[rng.below(active.hosts.size())];
    const Host from = static_cast<Host>(rng.below(cluster_.size()));
    if (fault.kind == FaultKind::garbage) {
        Bytes bytes(1 + rng.below(1500));
        for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(rng.next());
        send_strange(from, to, std::move(bytes), Origin::outsider);
        ++effects_[active.entry];
    } else if (fault.kind == FaultKind::forge) {
        const PeerId victim = cluster_.peer(static_cast<Host>(rng.below(cluster_.size()))).id;
        wire::Packet packet;
        packet.header = {cluster_id(attacking_cluster), PeerId{rng.next() | 1}, Generation{1}, Incarnation{0}, 1, 1};
        packet.kind = wire::PacketKind::gossip;
        if (victim != PeerId{})
            packet.facts.push_back(
                {victim, Generation{1}, Incarnation{5}, wire::MemberState::dead, packet.header.sender});
        auto bytes = wire::encode(packet);
        EXA_CHECK(bytes.has_value());
        send_strange(from, to, std::move(bytes).value(), Origin::outsider);
        ++effects_[active.entry];
    } else if (!past_.empty()) {
        Packet packet = past_[rng.below(past_.size())];
        // A later process at that address has not seen it: to that one it is late news of a member.
        Origin origin = cluster_.peer(packet.to).boot == packet.boot ? Origin::replayed : Origin::member;
        if (fault.kind == FaultKind::oversize) {
            packet.bytes.resize(2000 + rng.below(60'000), 0xff);
            origin = Origin::outsider;
        }
        send_strange(packet.from, packet.to, std::move(packet.bytes), origin);
        ++effects_[active.entry];
    }
    cluster_.push(cluster_.now() + std::max(Duration{1}, duration_of(1 / fault.rate)), EventKind::heal, 0, number);
}

void Director::send_strange(Host from, Host to, Bytes bytes, Origin origin) {
    mutate_stranger(mutant_, origin, Cluster::id(), bytes);
    cluster_.inject(from, to, std::move(bytes), origin);
}

}  // namespace exa::sim
