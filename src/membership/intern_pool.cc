#include "membership/intern_pool.h"

#include <algorithm>
#include <utility>

namespace exa::membership {

namespace {

// Two pointers of one control block. An address alone may be that of another object by now.
template <class T>
bool same_object(const std::weak_ptr<T>& a, const std::shared_ptr<T>& b) {
    return !a.owner_before(b) && !b.owner_before(a);
}

bool same_loads(const LoadReports& held, const LoadReports& reports) {
    return std::ranges::equal(held, reports, [](wire::LoadReport a, const wire::LoadReport& b) {
        a.age = b.age;
        return a == b;
    });
}

}  // namespace

template <class T>
std::vector<T>& InternPool::of_peer(FlatMap<PeerId, std::vector<T>, IdHash>& map, PeerId peer) {
    if (std::vector<T>* known = map.find(peer)) return *known;
    map.put(peer, {});
    return *map.find(peer);
}

std::shared_ptr<const VersionedRecord> InternPool::record(const std::shared_ptr<const VersionedRecord>& before,
                                                          const wire::RecordDelta& delta) {
    // A whole record is the same whatever was held before it.
    const bool is_first = before == nullptr || delta.base == 0;
    const std::uint64_t version = before == nullptr && delta.base != 0 ? 0 : delta.version;
    std::vector<Record>& known = of_peer(records_, delta.peer);
    for (const Record& entry : known) {
        if (entry.version != version || entry.generation != delta.generation) continue;
        if (!same_object(entry.before, is_first ? nullptr : before)) continue;
        auto held = entry.held.lock();
        if (held != nullptr && held->is_made_by(delta)) return held;
    }
    std::erase_if(known, [](const Record& entry) { return entry.held.expired(); });
    auto made = make_record(nullptr, is_first ? nullptr : before, delta);
    known.push_back({version, delta.generation, is_first ? nullptr : before, made});
    return made;
}

std::shared_ptr<const LoadReports> InternPool::loads(const wire::LoadGroup& group) {
    std::vector<Loads>& known = of_peer(loads_, group.peer);
    for (const Loads& entry : known) {
        if (entry.number != group.number || entry.part != group.part || entry.generation != group.generation) continue;
        auto held = entry.held.lock();
        if (held != nullptr && same_loads(*held, group.reports)) return held;
    }
    std::erase_if(known, [](const Loads& entry) { return entry.held.expired(); });
    auto made = make_loads(nullptr, group);
    known.push_back({group.generation, group.number, group.part, made});
    return made;
}

std::shared_ptr<const VersionedRecord> make_record(InternPool* pool,
                                                   const std::shared_ptr<const VersionedRecord>& before,
                                                   const wire::RecordDelta& delta) {
    if (pool != nullptr) return pool->record(before, delta);
    if (before == nullptr || delta.base == 0) return std::make_shared<const VersionedRecord>(delta);
    return std::make_shared<const VersionedRecord>(*before, delta);
}

std::shared_ptr<const LoadReports> make_loads(InternPool* pool, const wire::LoadGroup& group) {
    if (pool != nullptr) return pool->loads(group);
    LoadReports reports = group.reports;
    for (wire::LoadReport& report : reports) report.age = Duration{0};
    return std::make_shared<const LoadReports>(std::move(reports));
}

}  // namespace exa::membership
