// LoadTable: the newest load reports of every peer, and when our own are told.
//
// A peer's reports are cut by replica id into parts of wire::load_group_max, each small enough to find room in any
// packet. A part replaces the one before it as a whole; (generation, number) orders them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "membership/broadcast_queue.h"
#include "membership/intern_pool.h"
#include "membership/view.h"
#include "wire/gossip.h"

namespace exa::membership {

// How much others care to hear of a report, the least first. Below the floor an entry treats replicas alike: it knows
// its own requests, gets the load of the moment with every answer, and a few requests more or less are over before a
// report of them has reached everybody.
enum class LoadChange : std::uint8_t {
    none,
    small,
    eased,  // what was told says that a replica may be passed over, which has room again
    soon    // a replica is busy, or others than before; told once it lasted from one report to the next
};

// When our own loads are told.
struct LoadReportRule {
    std::span<const wire::ReplicaRecord> replicas;  // of the peer, sorted by id: their limits
    double change = 0.1;                            // least part of the value told last
    std::uint32_t floor = 4;                        // in flight: told so, a replica may be passed over
    Duration interval = std::chrono::seconds{1};    // at least from one report to the next
    Duration settle = std::chrono::seconds{300};    // the same for small news
};

class LoadTable {
  public:
    struct OwnUpdate {
        UpdateKey key;
        LoadChange news = LoadChange::small;
    };

    // `pool`: where reports of others are shared; null: nowhere.
    explicit LoadTable(std::shared_ptr<InternPool> pool = nullptr) : pool_(std::move(pool)) {}

    // Of a peer that the caller knows to be alive in this generation; `rule`: with that peer's replicas. None when it
    // held the same or newer.
    LoadChange apply(TimePoint now, const wire::LoadGroup& group, const LoadReportRule& rule);
    void drop(PeerId peer);

    // Our own, all of them.
    void set_own(TimePoint now, PeerId self, Generation generation, std::span<const wire::LoadReport> reports);
    // When the first of our parts is to be told, maybe in the past; nothing while all say what was told last.
    std::optional<TimePoint> own_update_due(PeerId self, const LoadReportRule& rule) const;
    // Our parts that are to be told by now. They count as told. To be called after every set_own.
    std::vector<OwnUpdate> take_own_updates(TimePoint now, PeerId self, const LoadReportRule& rule);

    // As it would leave now; nothing when there is none.
    std::optional<wire::LoadGroup> group(TimePoint now, UpdateKey key) const;
    // Of every part, by peer and part.
    std::vector<UpdateKey> keys() const;
    // Of one peer.
    std::size_t parts(PeerId peer) const;

    // Sorted by peer. Shares what did not change since the last call.
    LoadList by_peer();

  private:
    struct Part {
        Generation generation;
        std::uint64_t number = 0;
        TimePoint measured;
        std::shared_ptr<const LoadReports> reports;  // without their age; null: nothing was heard of it yet
    };
    struct Held {
        std::vector<Part> parts;
        std::shared_ptr<const PeerLoads> published;  // null when it is out of date
    };
    struct Told {
        TimePoint at;                                // or when there was first something to tell
        std::shared_ptr<const LoadReports> reports;  // null: not yet
        std::optional<TimePoint> soon_since;
    };

    const Part* find(UpdateKey key) const;
    LoadChange own_change(std::size_t part, const LoadReports& reports, const LoadReportRule& rule) const;
    std::optional<TimePoint> due(std::size_t part, const LoadReports& reports, const LoadReportRule& rule) const;
    // Made when it is new, and to be published again.
    Held& changed(PeerId peer);
    std::size_t position(PeerId peer) const;
    LoadList::Shelf publish(std::size_t shelf);
    PeerLoads loads_of(std::size_t at) const;

    std::shared_ptr<InternPool> pool_;
    // Sorted by peer. Two arrays, because a search then reads a few cache lines.
    std::vector<PeerId> peers_;
    std::vector<Held> held_;
    LoadList::Shelves shelves_;  // published; null when one is out of date
    std::vector<Told> told_;     // of our own parts
    std::uint64_t number_ = 0;
};

}  // namespace exa::membership
