#include "membership/anti_entropy.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

namespace exa::membership {

namespace {

// For so many gossip intervals an update may still be on its way.
constexpr int delivery_intervals = 5;
constexpr std::pair all_ids{PeerId{0}, PeerId{~std::uint64_t{0}}};

}  // namespace

AntiEntropy::AntiEntropy(TimePoint now, const Config& config)
    : sync_wait_(config.probe_interval),
      unchanged_since_(now),
      differs_sync_from_(now),
      differs_wait_(config.probe_interval) {}

void AntiEntropy::schedule(const Step& step) {
    step.timers.set({TimerKind::sync}, step.now + next_wait(step));
}

void AntiEntropy::reset_wait(const Step& step) {
    sync_wait_ = step.config.probe_interval / 4;
    schedule(step);
}

// Stretched by 1 + log2(n / 32), and spread over +-10 % so that peers do not fall into step.
Duration AntiEntropy::next_wait(const Step& step) {
    const double stretch = 1 + std::log2(std::max(1.0, static_cast<double>(step.roster.live_count()) / 32.0));
    const double period = static_cast<double>(step.config.sync_interval.count()) * stretch;
    const double wait = std::min(static_cast<double>(sync_wait_.count()), period);
    sync_wait_ = Duration{static_cast<Duration::rep>(std::min(2 * wait, period))};
    return Duration{static_cast<Duration::rep>(wait * (0.9 + 0.2 * step.rng.unit()))};
}

std::optional<PeerId> AntiEntropy::pick(const Step& step) {
    const std::vector<PeerId>& live = step.roster.live();
    if (live.empty()) return std::nullopt;
    return live[step.rng.below(live.size())];
}

AntiEntropy::RosterCheck AntiEntropy::check_roster(const Step& step, std::uint32_t theirs, std::uint32_t ours,
                                                   bool is_member) {
    if (std::exchange(last_hash_, ours) != ours) unchanged_since_ = step.now;
    if (theirs == ours) {
        differs_wait_ = step.config.probe_interval;
        return {true, false};
    }
    const bool is_stable = step.now - unchanged_since_ >= delivery_intervals * step.config.gossip_interval;
    if (!is_member || theirs == 0 || !is_stable || step.now < differs_sync_from_) return {};
    differs_sync_from_ = step.now + differs_wait_;
    differs_wait_ = std::min(2 * differs_wait_, step.config.sync_interval);
    return {false, true};
}

std::vector<SyncOut> AntiEntropy::open(const Step& step, PeerId with, Opening opening, bool is_newcomer) {
    std::vector<SyncOut> out;
    if (is_newcomer || step.roster.size() <= wire::summary_parts) {
        add_digests(step, with, all_ids, opening, out);
        return out;
    }
    wire::Sync sync;
    sync.kind = wire::SyncKind::summary;
    sync.want_loads = opening.want_loads;
    sync.keys_hash = opening.keys_hash;
    sync.seq = step.numbers.next();
    sync.summary.assign(step.roster.summary().begin(), step.roster.summary().end());
    out.push_back({with, std::move(sync)});
    return out;
}

std::vector<SyncOut> AntiEntropy::answer_summary(const Step& step, const wire::Sync& summary, std::uint64_t keys_hash) {
    std::vector<SyncOut> out;
    const std::span<const std::uint64_t> own = step.roster.summary();
    for (std::size_t part = 0; part < own.size(); ++part) {
        if (own[part] == summary.summary[part]) continue;
        const PeerId first = Roster::ids_of_part(part).first;
        while (part + 1 < own.size() && own[part + 1] != summary.summary[part + 1]) ++part;
        add_digests(step, summary.header.sender, {first, Roster::ids_of_part(part).second}, {false, keys_hash}, out);
    }
    return out;
}

void AntiEntropy::add_digests(const Step& step, PeerId with, std::pair<PeerId, PeerId> ids, Opening opening,
                              std::vector<SyncOut>& out) {
    const Roster& roster = step.roster;
    std::size_t at = roster.position(ids.first);
    const auto is_end = [&] { return at == roster.size() || roster.peer(at).record->id > ids.second; };
    for (PeerId first = ids.first; true;) {
        wire::Sync sync;
        sync.kind = wire::SyncKind::digest;
        sync.want_loads = std::exchange(opening.want_loads, false);
        sync.keys_hash = std::exchange(opening.keys_hash, 0);
        sync.seq = digest_seq_ = step.numbers.next();
        sync.first = first;
        for (; !is_end() && sync.digest.size() < wire::digest_entries_max; ++at)
            if (is_shared(step, roster.peer(at))) sync.digest.push_back(roster.digest(roster.peer(at)));
        sync.last = is_end() ? ids.second : PeerId{roster.peer(at).record->id.value - 1};
        first = PeerId{sync.last.value + 1};
        out.push_back({with, std::move(sync)});
        if (is_end()) return;
    }
}

bool is_shared(const Step& step, const Peer& peer) {
    const bool is_fresh = peer.liveness != Liveness::lost || step.now < peer.since + step.config.lost_retention / 2;
    return !peer.out_of_view && is_fresh;
}

}  // namespace exa::membership
