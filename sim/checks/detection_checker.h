// DetectionChecker: M2, every peer hears in time that another one went down. It measures how long crashes, leaves and
// births take to reach all others.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/checks/checker.h"

namespace exa::sim {

class DetectionChecker final : public Checker {
  public:
    // `bound`: the longest that it may take while nothing is cut off.
    DetectionChecker(CheckContext& context, Duration bound) : Checker(context), bound_(bound) {}

    void on_up(WorldTime now, const Peer& peer, std::size_t number) override;
    void on_down(WorldTime now, const Peer& peer, std::size_t number) override;
    void on_event(WorldTime now, const Peer& observer, std::size_t number, const membership::Event& event) override;
    void sweep(WorldTime now) override;

  private:
    // A crash, a leave or a birth on its way to all observers.
    struct Spread {
        WorldTime at;
        std::optional<WorldTime> first;
        std::vector<std::uint8_t> waiting{};  // by host
        std::uint32_t left = 0;
        bool overdue = false;  // reported already
    };
    // Of one subject.
    struct Changes {
        std::optional<Spread> ending;
        std::optional<Spread> birth;
    };

    Spread spread_from(WorldTime now) const;
    // What a peer that should have acted makes of the subject, and what it waits for.
    std::string waiting_for(WorldTime now, const Peer& late, std::size_t number) const;
    Changes& changes_of(std::size_t number);
    void drop_observer(Host host);
    void heard(WorldTime now, std::optional<Spread>& spread, Host observer, bool is_ending);

    Duration bound_;
    std::vector<Changes> changes_;
};

// True when the peer may be late, or wrong, through no fault of its own: it was stopped or cut off, within `bound`.
bool is_excused(const CheckContext& context, WorldTime now, const Peer& peer, Duration bound);

}  // namespace exa::sim
