// Timers: many deadlines behind one. Setting, cancelling and taking the next are O(log n).
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/time.h"

namespace exa::membership {

enum class TimerKind : std::uint8_t {
    probe,
    probe_timeout,
    gossip,
    sync,
    redial,
    seeds,
    loads,
    leave,
    suspicion,  // of a peer
    lost,       // of a dead peer
    forget,     // of a lost peer, or one that left
    relay       // of a probe made for another, by its sequence number
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
    void cancel(TimerKey key);
    void clear();
    std::size_t size() const { return deadlines_.size(); }
    bool is_set(TimerKey key) const { return deadlines_.contains(key); }

    TimePoint next() const { return order_.empty() ? time_never : order_.begin()->first; }
    // Removes and returns the earliest that is due. Equal deadlines come in the order of their keys.
    std::optional<TimerKey> take_due(TimePoint now);

  private:
    std::map<TimerKey, TimePoint> deadlines_;
    std::set<std::pair<TimePoint, TimerKey>> order_;
};

}  // namespace exa::membership
