#include "membership/bootstrap.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

namespace exa::membership {

namespace {

// One of them is enough to find the other side of a partition again.
constexpr std::size_t earlier_max = 1024;

// Asks whoever is there, and tells who we are.
void ping_for_record(const Step& step, const Endpoint& at, Effects& effects) {
    wire::Packet ping = make_packet(wire::PacketKind::ping, step.numbers.next(), PeerId{});
    ping.want_record = true;
    effects.send(at, std::nullopt, std::move(ping), true);
}

}  // namespace

Effects Bootstrap::join(const Step& step, std::vector<Endpoint> seeds) {
    Effects effects;
    std::erase(seeds, step.roster.own().record->gossip);
    seeds_ = std::move(seeds);
    others_version_ = 0;
    if (joined_) {
        for (const Endpoint& seed : seeds_) ping_for_record(step, seed, effects);
        return effects;
    }
    if (seeds_.empty()) return complete_join(step);
    seed_wait_ = step.config.seed_backoff;
    step.timers.set({TimerKind::seeds}, step.now);
    return effects;
}

Effects Bootstrap::complete_join(const Step& step) {
    joined_ = true;
    step.timers.cancel({TimerKind::seeds});
    Effects effects;
    effects.notices.push_back({EventKind::joined_cluster, step.roster.self()});
    return effects;
}

Effects Bootstrap::drop_own_address(const Step& step, const Endpoint& seed) {
    if (std::erase(seeds_, seed) == 0) return {};
    others_version_ = 0;
    return seeds_.empty() ? join(step, {}) : Effects{};
}

Effects Bootstrap::dial_seeds(const Step& step) {
    Effects effects;
    for (const Endpoint& seed : seeds_) ping_for_record(step, seed, effects);
    step.timers.set({TimerKind::seeds}, step.now + seed_wait_);
    seed_wait_ = std::min(seed_wait_ * 3 / 2, step.config.seed_backoff_max);
    return effects;
}

Effects Bootstrap::redial(const Step& step) {
    Effects effects;
    step.timers.set({TimerKind::redial}, step.now + step.config.redial_interval);
    const auto& dead = step.roster.dead();
    if (!dead.empty()) {
        const PeerId id = std::next(dead.begin(), static_cast<std::ptrdiff_t>(step.rng.below(dead.size())))->second;
        effects.send(step.roster.find(id)->record->gossip, id,
                     make_packet(wire::PacketKind::ping, step.numbers.next(), id), true);
    }
    if (!joined_) return effects;
    find_others(step);
    if (!others_.empty()) ping_for_record(step, others_[step.rng.below(others_.size())], effects);
    return effects;
}

void Bootstrap::find_others(const Step& step) {
    if (others_version_ == step.roster.live_version()) return;
    std::set<Endpoint> others(seeds_.begin(), seeds_.end());
    others.insert(earlier_.begin(), earlier_.end());
    others.erase(step.roster.own().record->gossip);
    for (const PeerId id : step.roster.live()) others.erase(step.roster.find(id)->record->gossip);
    const auto is_member = [&](const Endpoint& endpoint) { return !others.contains(endpoint); };
    std::erase_if(earlier_, is_member);
    others_ = seeds_;
    std::erase_if(others_, is_member);
    others_.insert(others_.end(), earlier_.begin(), earlier_.end());
    others_version_ = step.roster.live_version();
}

void Bootstrap::remember(const Endpoint& endpoint) {
    std::erase(earlier_, endpoint);
    if (earlier_.size() >= earlier_max) earlier_.pop_front();
    earlier_.push_back(endpoint);
    others_version_ = 0;
}

bool Bootstrap::take_join_sync(const Step& step) {
    if (joined_ || step.now < join_sync_from_) return false;
    join_sync_from_ = step.now + step.config.pull_timeout;
    return true;
}

bool Bootstrap::take_heal_sync(const Step& step) {
    if (!joined_ || step.now < heal_sync_from_) return false;
    heal_sync_from_ = step.now + step.config.probe_interval;
    return true;
}

}  // namespace exa::membership
