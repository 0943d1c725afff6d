#include "membership/load_table.h"

#include <algorithm>
#include <cstdlib>
#include <tuple>
#include <utility>

#include "membership/id_search.h"

namespace exa::membership {

namespace {

// A replica is busy from this part of its limit on.
constexpr std::uint32_t busy_permille = 750;
// Fewer waiting tokens, a few steps of a batch, do not change where requests go.
constexpr std::uint32_t queued_tokens_busy = 2048;
constexpr int kv_permille_change = 100;

// From its record; 0 when that says nothing.
std::uint32_t limit_of(const LoadReportRule& rule, ReplicaId id) {
    const auto replica = std::ranges::lower_bound(rule.replicas, id, {}, &wire::ReplicaRecord::id);
    return replica != rule.replicas.end() && replica->id == id ? replica->in_flight_limit : 0;
}

std::uint32_t busy_from(const LoadReportRule& rule, const wire::LoadReport& report) {
    std::uint64_t limit = report.in_flight_limit;
    if (limit == 0) limit = limit_of(rule, report.replica);
    return std::max(rule.floor, static_cast<std::uint32_t>(limit * busy_permille / 1000));
}

bool is_change(std::uint32_t reported, std::uint32_t now, double change) {
    const std::uint32_t by = reported > now ? reported - now : now - reported;
    return by > 0 && static_cast<double>(by) >= change * static_cast<double>(reported);
}

LoadChange change_of(const wire::LoadReport& reported, const wire::LoadReport& now, const LoadReportRule& rule) {
    if (reported == now) return LoadChange::none;
    if (reported.replica != now.replica) return LoadChange::soon;
    const int kv_by = std::abs(int{reported.kv_used_permille} - int{now.kv_used_permille});
    const bool kv_changed = kv_by >= kv_permille_change;
    const bool count_changed = is_change(reported.in_flight, now.in_flight, rule.change);
    const bool tokens_changed = is_change(reported.queued_tokens, now.queued_tokens, rule.change);
    if ((count_changed && now.in_flight >= busy_from(rule, now)) ||
        is_change(reported.queued, now.queued, rule.change) ||
        (tokens_changed && now.queued_tokens >= queued_tokens_busy) ||
        (kv_changed && now.kv_used_permille >= busy_permille))
        return LoadChange::soon;
    // Told once for each time that it was told to be busy, so that nobody avoids it for minutes.
    const bool is_idle = now.in_flight == 0 && now.queued_tokens == 0;
    const bool was_idle = reported.in_flight == 0 && reported.queued_tokens == 0;
    if ((is_idle && !was_idle) || (count_changed && reported.in_flight >= rule.floor) ||
        (tokens_changed && reported.queued_tokens >= queued_tokens_busy) ||
        (kv_changed && reported.kv_used_permille >= busy_permille))
        return LoadChange::eased;
    return LoadChange::small;
}

// What a peer that has heard nothing assumes of the replicas of `reports`.
LoadReports idle_reports(LoadReports reports, const LoadReportRule& rule) {
    for (wire::LoadReport& report : reports) {
        const bool moved = report.in_flight_limit != limit_of(rule, report.replica);
        report = {.replica = report.replica, .in_flight_limit = moved ? std::uint16_t{0} : report.in_flight_limit};
    }
    return reports;
}

// `reported`: null when nothing was.
LoadChange change_of(const LoadReports* reported, const LoadReports& now, const LoadReportRule& rule) {
    const LoadReports idle = reported == nullptr ? idle_reports(now, rule) : LoadReports();
    const LoadReports& before = reported == nullptr ? idle : *reported;
    if (before.size() != now.size()) return LoadChange::soon;
    LoadChange most = LoadChange::none;
    for (std::size_t i = 0; i < now.size(); ++i) most = std::max(most, change_of(before[i], now[i], rule));
    return most;
}

}  // namespace

std::size_t LoadTable::position(PeerId peer) const {
    return lower_bound(peers_, peer);
}

LoadTable::Held& LoadTable::changed(PeerId peer) {
    const std::size_t at = position(peer);
    const std::size_t chunk = at / LoadList::chunk_peers;
    if (at == peers_.size() || peers_[at] != peer) {
        peers_.insert(peers_.begin() + static_cast<std::ptrdiff_t>(at), peer);
        held_.emplace(held_.begin() + static_cast<std::ptrdiff_t>(at));
        chunks_.resize(std::min(chunks_.size(), chunk));
    }
    held_[at].published.reset();
    if (chunk < chunks_.size()) chunks_[chunk].reset();
    return held_[at];
}

const LoadTable::Part* LoadTable::find(UpdateKey key) const {
    const std::size_t at = position(key.peer);
    if (at == peers_.size() || peers_[at] != key.peer || key.part >= held_[at].parts.size()) return nullptr;
    const Part& part = held_[at].parts[key.part];
    return part.reports != nullptr ? &part : nullptr;
}

LoadChange LoadTable::apply(TimePoint now, const wire::LoadGroup& group, const LoadReportRule& rule) {
    const Part* last = find({group.peer, group.part});
    if (last != nullptr && std::pair(group.generation, group.number) <= std::pair(last->generation, last->number))
        return LoadChange::none;
    std::shared_ptr<const LoadReports> reports = make_loads(pool_.get(), group);
    const LoadChange change = change_of(last != nullptr ? last->reports.get() : nullptr, *reports, rule);
    Held& held = changed(group.peer);
    if (held.parts.size() <= group.part) held.parts.resize(group.part + std::size_t{1});
    Part& part = held.parts[group.part];
    part.generation = group.generation;
    part.number = group.number;
    part.measured = now - group.age;
    part.reports = std::move(reports);
    // A newer report is passed on even where it says the same: somebody may hold another.
    return std::max(change, LoadChange::small);
}

void LoadTable::drop(PeerId peer) {
    const std::size_t at = position(peer);
    if (at == peers_.size() || peers_[at] != peer) return;
    peers_.erase(peers_.begin() + static_cast<std::ptrdiff_t>(at));
    held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(at));
    chunks_.resize(std::min(chunks_.size(), at / LoadList::chunk_peers));
}

void LoadTable::set_own(TimePoint now, PeerId self, Generation generation, std::span<const wire::LoadReport> reports) {
    LoadReports sorted(reports.begin(), reports.end());
    std::ranges::sort(sorted, {}, &wire::LoadReport::replica);
    sorted.resize(std::min(sorted.size(), wire::replicas_max));
    Held& own = changed(self);
    const std::size_t parts = (sorted.size() + wire::load_group_max - 1) / wire::load_group_max;
    if (own.parts.size() < parts) own.parts.resize(parts);
    reported_.resize(own.parts.size(), {now, nullptr, std::nullopt});
    for (std::size_t i = 0; i < own.parts.size(); ++i) {
        Part& part = own.parts[i];
        // A part that became empty stays, so that others hear of it and do not keep its replicas.
        const std::size_t begin = std::min(i * wire::load_group_max, sorted.size());
        const std::size_t end = std::min(begin + wire::load_group_max, sorted.size());
        const std::span<wire::LoadReport> range(sorted.data() + begin, end - begin);
        if (!range.empty()) part.measured = now - range.back().age;
        part.generation = generation;
        for (wire::LoadReport& report : range) report.age = Duration{0};
        if (part.reports == nullptr || !std::ranges::equal(*part.reports, range))
            part.reports = std::make_shared<const LoadReports>(range.begin(), range.end());
    }
}

LoadChange LoadTable::own_change(std::size_t part, const LoadReports& reports, const LoadReportRule& rule) const {
    return change_of(reported_[part].reports.get(), reports, rule);
}

std::optional<TimePoint> LoadTable::due(std::size_t part, const LoadReports& reports,
                                        const LoadReportRule& rule) const {
    switch (own_change(part, reports, rule)) {
        case LoadChange::none:
            return std::nullopt;
        case LoadChange::small:
            return reported_[part].at + rule.interval_max;
        case LoadChange::eased:
            return reported_[part].at + rule.interval;
        case LoadChange::soon:
            return std::max(reported_[part].at, reported_[part].soon_since.value_or(reported_[part].at)) +
                   rule.interval;
    }
    return std::nullopt;
}

std::optional<TimePoint> LoadTable::own_update_due(PeerId self, const LoadReportRule& rule) const {
    const std::size_t at = position(self);
    if (at == peers_.size() || peers_[at] != self) return std::nullopt;
    std::optional<TimePoint> first;
    const std::vector<Part>& parts = held_[at].parts;
    for (std::size_t i = 0; i < parts.size(); ++i)
        if (const auto next = due(i, *parts[i].reports, rule); next && (!first || *next < *first)) first = next;
    return first;
}

std::vector<LoadTable::OwnUpdate> LoadTable::take_own_updates(TimePoint now, PeerId self, const LoadReportRule& rule) {
    std::vector<OwnUpdate> updates;
    const std::size_t at = position(self);
    if (at == peers_.size() || peers_[at] != self) return updates;
    std::vector<Part>& parts = held_[at].parts;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        Part& part = parts[i];
        const LoadChange own = own_change(i, *part.reports, rule);
        if (own != LoadChange::soon)
            reported_[i].soon_since.reset();
        else if (!reported_[i].soon_since)
            reported_[i].soon_since = now;
        const auto next = due(i, *part.reports, rule);
        if (!next || *next > now) continue;
        updates.push_back({{self, static_cast<std::uint16_t>(i)}, own});
        reported_[i] = {now, part.reports, std::nullopt};
        part.number = ++number_;
    }
    return updates;
}

std::optional<wire::LoadGroup> LoadTable::group(TimePoint now, UpdateKey key) const {
    const Part* part = find(key);
    if (part == nullptr) return std::nullopt;
    wire::LoadGroup group;
    group.peer = key.peer;
    group.part = key.part;
    group.generation = part->generation;
    group.number = part->number;
    // Whole milliseconds travel. Past an hour nobody cares how old exactly.
    const Duration age = std::clamp<Duration>(now - part->measured, Duration{0}, std::chrono::hours{1});
    group.age = std::chrono::floor<std::chrono::milliseconds>(age);
    group.reports = *part->reports;
    for (wire::LoadReport& report : group.reports) report.age = group.age;
    return group;
}

std::size_t LoadTable::parts(PeerId peer) const {
    const std::size_t at = position(peer);
    return at < peers_.size() && peers_[at] == peer ? held_[at].parts.size() : 0;
}

std::vector<UpdateKey> LoadTable::keys() const {
    std::vector<UpdateKey> keys;
    for (std::size_t i = 0; i < peers_.size(); ++i)
        for (std::size_t part = 0; part < held_[i].parts.size(); ++part)
            if (held_[i].parts[part].reports != nullptr) keys.push_back({peers_[i], static_cast<std::uint16_t>(part)});
    return keys;
}

LoadList LoadTable::by_peer() {
    chunks_.resize((held_.size() + LoadList::chunk_peers - 1) / LoadList::chunk_peers);
    for (std::size_t chunk = 0; chunk < chunks_.size(); ++chunk)
        if (chunks_[chunk] == nullptr) chunks_[chunk] = std::make_shared<const LoadList::Chunk>(publish(chunk));
    return LoadList(chunks_);
}

LoadList::Chunk LoadTable::publish(std::size_t chunk) {
    LoadList::Chunk all;
    const std::size_t begin = chunk * LoadList::chunk_peers;
    const std::size_t end = std::min(begin + LoadList::chunk_peers, held_.size());
    all.reserve(end - begin);
    for (std::size_t i = begin; i < end; ++i) {
        std::shared_ptr<const PeerLoads>& published = held_[i].published;
        if (published == nullptr) published = std::make_shared<const PeerLoads>(loads_of(i));
        all.push_back(published);
    }
    return all;
}

PeerLoads LoadTable::loads_of(std::size_t at) const {
    PeerLoads loads;
    loads.peer = peers_[at];
    const std::vector<Part>& parts = held_[at].parts;
    loads.entries.reserve(parts.size() * wire::load_group_max);
    for (const Part& part : parts)
        if (part.reports != nullptr)
            for (const wire::LoadReport& report : *part.reports) loads.entries.push_back({report, part.measured});
    const auto replica_of = [](const LoadEntry& entry) { return entry.report.replica; };
    // While a peer's replicas move between its parts, one of them may stand in two.
    if (std::ranges::adjacent_find(loads.entries, std::ranges::greater_equal{}, replica_of) != loads.entries.end()) {
        std::ranges::sort(loads.entries, [](const LoadEntry& a, const LoadEntry& b) {
            return std::tie(a.report.replica, b.measured) < std::tie(b.report.replica, a.measured);
        });
        const auto twins = std::ranges::unique(loads.entries, {}, replica_of);
        loads.entries.erase(twins.begin(), twins.end());
    }
    return loads;
}

}  // namespace exa::membership
