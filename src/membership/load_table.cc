#include "membership/load_table.h"

#include <algorithm>
#include <tuple>

namespace exa::membership {

namespace {

bool differs(std::uint32_t told, std::uint32_t now, double change, std::uint32_t floor) {
    const std::uint32_t by = told > now ? told - now : now - told;
    return by > floor && static_cast<double>(by) >= change * static_cast<double>(told);
}

ReplicaId replica_of(const LoadEntry& entry) {
    return entry.report.replica;
}

bool worth_telling(const std::vector<LoadEntry>& told, const std::vector<LoadEntry>& now, double change) {
    if (told.size() != now.size()) return true;
    for (std::size_t i = 0; i < now.size(); ++i) {
        const wire::LoadReport& before = told[i].report;
        const wire::LoadReport& after = now[i].report;
        if (before.replica != after.replica) return true;
        if (differs(before.in_flight, after.in_flight, change, 0)) return true;
        if (differs(before.queued_tokens, after.queued_tokens, change, 0)) return true;
        // The cache's use wanders by a page at a time even when nothing happens.
        if (differs(before.kv_used_permille, after.kv_used_permille, change, 10)) return true;
    }
    return false;
}

}  // namespace

bool LoadTable::apply(TimePoint now, const wire::LoadGroup& group) {
    const NewsKey key{group.peer, group.part};
    Group& held = groups_[key];
    if (!held.entries.empty() || held.number != 0) {
        if (std::pair(group.generation, group.number) <= std::pair(held.generation, held.number)) return false;
    }
    held = {group.generation, group.number, now - group.age, {}};
    for (wire::LoadReport report : group.reports) {
        report.age = Duration{0};
        held.entries.push_back({report, held.measured});
    }
    return true;
}

bool LoadTable::note(TimePoint now, const wire::LoadReport& report) {
    const TimePoint measured = now - report.age;
    for (auto at = groups_.lower_bound({report.replica.peer, 0});
         at != groups_.end() && at->first.peer == report.replica.peer; ++at)
        for (LoadEntry& entry : at->second.entries) {
            if (entry.report.replica != report.replica || entry.measured >= measured) continue;
            entry = {report, measured};
            entry.report.age = Duration{0};
            return true;
        }
    return false;
}

void LoadTable::drop(PeerId peer) {
    const auto first = groups_.lower_bound({peer, 0});
    auto last = first;
    while (last != groups_.end() && last->first.peer == peer) ++last;
    groups_.erase(first, last);
}

void LoadTable::set_own(TimePoint now, PeerId self, Generation generation, std::span<const wire::LoadReport> reports) {
    std::vector<LoadEntry> sorted;
    for (wire::LoadReport report : reports) {
        const TimePoint measured = now - report.age;
        report.age = Duration{0};
        sorted.push_back({report, measured});
    }
    std::ranges::sort(sorted, {}, replica_of);
    sorted.resize(std::min(sorted.size(), wire::replicas_max));
    // A part that is empty now stays as an empty group, so that it is told and nobody keeps its replicas.
    for (auto at = groups_.lower_bound({self, 0}); at != groups_.end() && at->first.peer == self; ++at)
        at->second.entries.clear();
    for (std::size_t i = 0; i < sorted.size(); ++i) {
        Group& held = groups_[{self, static_cast<std::uint16_t>(i / wire::load_group_max)}];
        held.generation = generation;
        held.measured = sorted[i].measured;
        held.entries.push_back(sorted[i]);
    }
}

std::vector<NewsKey> LoadTable::take_own_news(PeerId self, double change) {
    std::vector<NewsKey> news;
    for (auto at = groups_.lower_bound({self, 0}); at != groups_.end() && at->first.peer == self; ++at) {
        auto& [key, held] = *at;
        const auto told = told_.find(key);
        if (told != told_.end() && !worth_telling(told->second, held.entries, change)) continue;
        news.push_back(key);
        told_[key] = held.entries;
        held.number = ++number_;
    }
    return news;
}

std::optional<wire::LoadGroup> LoadTable::group(TimePoint now, NewsKey key) const {
    const auto at = groups_.find(key);
    if (at == groups_.end()) return std::nullopt;
    wire::LoadGroup group;
    group.peer = key.peer;
    group.part = key.part;
    group.generation = at->second.generation;
    group.number = at->second.number;
    // Whole milliseconds travel. Past an hour nobody cares how old exactly.
    const Duration age = std::clamp<Duration>(now - at->second.measured, Duration{0}, std::chrono::hours{1});
    group.age = std::chrono::floor<std::chrono::milliseconds>(age);
    for (const LoadEntry& entry : at->second.entries) {
        group.reports.push_back(entry.report);
        group.reports.back().age = group.age;
    }
    return group;
}

std::vector<NewsKey> LoadTable::keys() const {
    std::vector<NewsKey> keys;
    for (const auto& [key, group] : groups_) keys.push_back(key);
    return keys;
}

std::vector<LoadEntry> LoadTable::entries() const {
    std::vector<LoadEntry> all;
    for (const auto& [key, group] : groups_) all.insert(all.end(), group.entries.begin(), group.entries.end());
    // While a peer's replicas move between its groups, one of them may stand in two.
    std::ranges::sort(all, [](const LoadEntry& a, const LoadEntry& b) {
        return std::tie(a.report.replica, b.measured) < std::tie(b.report.replica, a.measured);
    });
    const auto twins = std::ranges::unique(all, {}, replica_of);
    all.erase(twins.begin(), twins.end());
    return all;
}

}  // namespace exa::membership
