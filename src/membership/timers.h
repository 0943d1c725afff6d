// Timers: many deadlines behind one. Most are set again long before they are due, so that a sorted array, which moves a
// few cache lines each time, is faster than any tree.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/flat_map.h"
#include "base/time.h"

namespace exa::membership {

enum class TimerKind : std::uint8_t {
    probe,
    probe_timeout,
    gossip,
    sync,
    redial,
    seeds,
    lookups,
    name,
    loads,
    leave,
    suspicion,  // of a peer
    rack,       // by the hash of its name
    record,
    lost,           // of a dead peer
    forget,         // of a lost peer, or one that left
    indirect_probe  // of a probe made for another, by its sequence number
};

struct TimerKey {
    TimerKind kind = TimerKind::probe;
    std::uint64_t of = 0;  // peer id or sequence number, 0 for the single ones
    auto operator<=>(const TimerKey&) const = default;
};

class Timers {
  public:
    // Replaces an earlier deadline of the same key.
    void set(TimerKey key, TimePoint when);
    // Unless an earlier deadline of the same key stands.
    void set_sooner(TimerKey key, TimePoint when);
    // The deadlines of this kind that lie in (after, until] become `to`, which must be later than `until`.
    void put_off(TimerKind kind, TimePoint after, TimePoint until, TimePoint to);
    void cancel(TimerKey key);
    void clear();
    std::size_t size() const { return deadlines_.size(); }
    bool is_set(TimerKey key) const { return deadlines_.find(key) != nullptr; }

    TimePoint next() const { return order_.empty() ? time_never : order_.back().first; }
    // Removes and returns the earliest that is due. Equal deadlines come in the order of their keys.
    std::optional<TimerKey> take_due(TimePoint now);

  private:
    struct KeyHash {
        std::uint64_t operator()(const TimerKey& key) const {
            return mix64(key.of ^ static_cast<std::uint64_t>(key.kind) << 56);
        }
    };

    FlatMap<TimerKey, TimePoint, KeyHash> deadlines_;
    std::vector<std::pair<TimePoint, TimerKey>> order_;  // the earliest last
};

}  // namespace exa::membership
