#include "membership/bootstrap.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

namespace exa::membership {

namespace {

// One of them is enough to find the other side of a partition again.
constexpr std::size_t earlier_max = 1024;
// Members of before that are dialled beside the seeds, each time: in a large cluster a few of them answer.
constexpr std::size_t earlier_dialled = 4;
constexpr std::size_t own_addresses_max = 16;
// A name is looked up this often: before the peer has met anybody, and later on, when it may lead to the rest of the
// cluster.
constexpr std::chrono::seconds lookup_interval{2};
constexpr std::chrono::seconds lookup_interval_joined{30};
// A look-up without an answer for so long was lost.
constexpr std::chrono::seconds lookup_timeout{10};
// An address that is no member's (a translated one) counts as answering for so long after an answer.
constexpr std::chrono::minutes answer_lasts{1};

// Asks whoever is there, and tells who we are.
void ping_for_record(const Step& step, const Endpoint& at, Effects& effects) {
    wire::Packet ping = make_packet(wire::PacketKind::ping, step.numbers.next(), PeerId{});
    ping.want_record = true;
    effects.send(at, std::nullopt, std::move(ping), true);
}

bool contains(const std::vector<Endpoint>& list, const Endpoint& endpoint) {
    return std::ranges::find(list, endpoint) != list.end();
}

}  // namespace

bool Bootstrap::is_own(const Roster& roster, const Endpoint& endpoint) const {
    return endpoint == roster.own().record->gossip || contains(own_, endpoint);
}

bool Bootstrap::has_others(const Roster& roster) const {
    const auto may_find = [&](const Seed& seed) {
        return seed.is_name || std::ranges::any_of(seed.at, [&](const Endpoint& at) { return !is_own(roster, at); });
    };
    return !earlier_.empty() || std::ranges::any_of(seeds_, may_find);
}

bool Bootstrap::add_seed(const Step& step, std::string text) {
    if (seeds_.size() >= seeds_max || std::ranges::find(seeds_, text, &Seed::text) != seeds_.end()) return false;
    Seed seed;
    const auto numbers = parse_endpoint(text);
    seed.is_name = !numbers.has_value();
    if (numbers) seed.at = {*numbers};
    seed.text = std::move(text);
    seed.given = step.now;
    seeds_.push_back(std::move(seed));
    return true;
}

Effects Bootstrap::join(const Step& step, JoinRequest request) {
    for (std::string& seed : request.seeds) add_seed(step, std::move(seed));
    const bool founds = request.first && request.members.empty();
    for (const RememberedMember& member : request.members)
        if (!is_own(step.roster, member.gossip)) remember(member.gossip);
    others_version_ = 0;
    look_up(step);
    Effects effects;
    if (!joined_ && founds) finish(step, effects);
    found_if_first(step, effects);
    if (joined_) {
        for (const Seed& seed : seeds_)
            for (const Endpoint& at : seed.at)
                if (!is_own(step.roster, at)) ping_for_record(step, at, effects);
        return effects;
    }
    seed_wait_ = step.config.seed_backoff;
    step.timers.set({TimerKind::seeds}, step.now);
    return effects;
}

void Bootstrap::found_if_first(const Step& step, Effects& effects) {
    if (!joined_ && !has_others(step.roster)) finish(step, effects);
}

void Bootstrap::finish(const Step& step, Effects& effects) {
    joined_ = true;
    alone_ = false;
    step.timers.cancel({TimerKind::seeds});
    effects.notices.push_back({EventKind::joined_cluster, step.roster.self()});
}

Effects Bootstrap::complete_join(const Step& step) {
    Effects effects;
    if (!joined_) finish(step, effects);
    return effects;
}

Effects Bootstrap::drop_own_address(const Step& step, const Endpoint& seed) {
    Effects effects;
    const bool is_dialled = std::ranges::find(earlier_, seed) != earlier_.end() ||
                            std::ranges::any_of(seeds_, [&](const Seed& each) { return contains(each.at, seed); });
    if (!is_dialled || is_own(step.roster, seed) || own_.size() >= own_addresses_max) return effects;
    own_.push_back(seed);
    std::erase(earlier_, seed);
    others_version_ = 0;
    found_if_first(step, effects);
    return effects;
}

Effects Bootstrap::dial_seeds(const Step& step) {
    Effects effects;
    std::set<Endpoint> at;
    for (const Seed& seed : seeds_) at.insert(seed.at.begin(), seed.at.end());
    for (std::size_t i = 0; i < std::min(earlier_dialled, earlier_.size()); ++i)
        at.insert(earlier_[next_earlier_++ % earlier_.size()]);
    for (const Endpoint& endpoint : at)
        if (!is_own(step.roster, endpoint)) ping_for_record(step, endpoint, effects);
    step.timers.set({TimerKind::seeds}, step.now + seed_wait_);
    seed_wait_ = std::min(seed_wait_ * 3 / 2, step.config.seed_backoff_max);
    watch(step, effects);
    return effects;
}

Effects Bootstrap::redial(const Step& step) {
    Effects effects;
    step.timers.set({TimerKind::redial}, step.now + step.config.redial_interval);
    watch(step, effects);
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

// Sorted.
void Bootstrap::find_others(const Step& step) {
    if (others_version_ == step.roster.live_version()) return;
    std::set<Endpoint> others(earlier_.begin(), earlier_.end());
    for (const Seed& seed : seeds_) others.insert(seed.at.begin(), seed.at.end());
    for (const Endpoint& own : own_) others.erase(own);
    others.erase(step.roster.own().record->gossip);
    for (const PeerId id : step.roster.live()) others.erase(step.roster.find(id)->record->gossip);
    std::erase_if(earlier_, [&](const Endpoint& endpoint) { return !others.contains(endpoint); });
    others_.assign(others.begin(), others.end());
    others_version_ = step.roster.live_version();
}

void Bootstrap::remember(const Endpoint& endpoint) {
    std::erase(earlier_, endpoint);
    if (earlier_.size() >= earlier_max) earlier_.pop_front();
    earlier_.push_back(endpoint);
    others_version_ = 0;
}

void Bootstrap::hear(TimePoint now, const Endpoint& from) {
    for (Seed& seed : seeds_)
        if (contains(seed.at, from)) seed.heard = now;
}

// Notices a peer that stands alone, and seeds that have been silent for long.
void Bootstrap::watch(const Step& step, Effects& effects) {
    find_others(step);
    bool has_silent = false;
    for (Seed& seed : seeds_) {
        const SeedStatus now = status(step.now, step.roster, seed);
        if (is_members(step.roster, seed)) seed.heard = step.now;
        const bool is_silent = now.state == SeedStatus::State::silent || now.state == SeedStatus::State::unresolved;
        has_silent = has_silent || (is_silent && step.now - now.heard >= silent_after);
    }
    if (std::exchange(silent_seed_, has_silent) != has_silent && has_silent)
        effects.notices.push_back({EventKind::seed_silent, step.roster.self()});
    if (!step.roster.live().empty() || !has_others(step.roster)) in_company_ = step.now;
    const bool is_alone = step.now - in_company_ >= alone_after;
    if (std::exchange(alone_, is_alone) != is_alone && is_alone)
        effects.notices.push_back({EventKind::alone_with_seeds, step.roster.self()});
}

// A live member has one of its addresses, as of the last find_others().
bool Bootstrap::is_members(const Roster& roster, const Seed& seed) const {
    return std::ranges::any_of(
        seed.at, [&](const Endpoint& at) { return !is_own(roster, at) && !std::ranges::binary_search(others_, at); });
}

SeedStatus Bootstrap::status(TimePoint now, const Roster& roster, const Seed& seed) const {
    SeedStatus status{seed.text, SeedStatus::State::silent, seed.at, seed.heard.value_or(seed.given)};
    if (is_members(roster, seed) || (seed.heard && now - *seed.heard < answer_lasts))
        status.state = SeedStatus::State::answering;
    else if (!seed.at.empty() && std::ranges::all_of(seed.at, [&](const Endpoint& at) { return is_own(roster, at); }))
        status.state = SeedStatus::State::self;
    else if (seed.at.empty() && seed.is_unresolved)
        status.state = SeedStatus::State::unresolved;
    return status;
}

std::vector<SeedStatus> Bootstrap::seeds(TimePoint now, const Roster& roster) const {
    std::vector<SeedStatus> all;
    all.reserve(seeds_.size());
    for (const Seed& seed : seeds_) all.push_back(status(now, roster, seed));
    return all;
}

void Bootstrap::look_up(const Step& step) {
    bool has_names = false;
    for (Seed& seed : seeds_) {
        if (!seed.is_name) continue;
        has_names = true;
        if (seed.asked_until > step.now) continue;
        if (step.config.mutant == Mutant::lookup_once && seed.asked_until != TimePoint{}) continue;
        seed.asked_until = step.now + lookup_timeout;
        lookups_.push_back(seed.text);
    }
    if (has_names)
        step.timers.set({TimerKind::lookups}, step.now + (joined_ ? lookup_interval_joined : lookup_interval));
}

std::optional<std::string> Bootstrap::poll_lookup() {
    if (lookups_.empty()) return std::nullopt;
    std::string name = std::move(lookups_.front());
    lookups_.pop_front();
    return name;
}

Effects Bootstrap::handle_lookup(const Step& step, std::string_view name, std::vector<Endpoint> found) {
    Effects effects;
    const auto seed = std::ranges::find(seeds_, name, &Seed::text);
    if (seed == seeds_.end() || !seed->is_name) return effects;
    seed->asked_until = step.now;
    seed->is_unresolved = found.empty();
    if (found.empty()) return effects;
    if (found.size() > seeds_max) found.resize(seeds_max);
    const std::vector<Endpoint> before = std::exchange(seed->at, std::move(found));
    for (const Endpoint& at : seed->at)
        if (!contains(before, at) && !is_own(step.roster, at)) ping_for_record(step, at, effects);
    others_version_ = 0;
    return effects;
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
