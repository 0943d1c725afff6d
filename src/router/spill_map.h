// SpillMap: which replica took a session over when its owner was too busy, and among how many it spreads. Bounded:
// the entry unused for longest goes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "base/time.h"

namespace exa::router {

struct Spill {
    std::optional<ReplicaId> replica{};  // where it went last
    // Among how many of the ring's next replicas it spreads. Few, so that they hold its KV; more with every replica
    // that turned it away.
    std::uint32_t fan_out = 1;
    bool operator==(const Spill&) const = default;
};

inline constexpr std::uint32_t fan_out_max = 32;

class SpillMap {
  public:
    // `life`: how long an entry holds after its last use. `capacity` is at least 1.
    SpillMap(std::size_t capacity, Duration life);

    // Counts as a use.
    std::optional<Spill> find(TimePoint now, std::uint64_t session);
    std::optional<Spill> peek(TimePoint now, std::uint64_t session) const;
    void remember(TimePoint now, std::uint64_t session, const Spill& spill);
    void forget(std::uint64_t session);

    std::size_t size() const { return index_.size(); }

  private:
    // A ring of nodes by last use; node 0 is its anchor: next is the newest, previous the oldest.
    struct Node {
        std::uint64_t session = 0;
        Spill spill;
        TimePoint used{};
        std::uint32_t previous = 0;
        std::uint32_t next = 0;
    };

    void unlink(std::uint32_t at);
    void link_newest(std::uint32_t at);
    void erase(std::uint32_t at);

    std::size_t capacity_;
    Duration life_;
    std::vector<Node> nodes_;
    std::vector<std::uint32_t> free_;
    std::unordered_map<std::uint64_t, std::uint32_t> index_;  // never iterated
};

}  // namespace exa::router
