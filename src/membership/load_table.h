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

// How much others care about a report, the least first. Below the floor a router treats replicas alike: it knows its
// own requests, every answer brings the load of the moment, and a few requests more or less are over before a report of
// them has reached everybody.
enum class LoadChange : std::uint8_t {
    none,
    small,
    eased,  // a replica that was reported as busy has room again
    soon    // other replicas are busy than were reported; sent once that lasted from one report to the next
};

// When our own loads are reported.
struct LoadReportRule {
    std::span<const wire::ReplicaRecord> replicas;      // of the peer, sorted by id, with their limits
    double change = 0.1;                                // least part of the value that was reported last
    std::uint32_t floor = 4;                            // in flight: from here on a router may pass a replica over
    Duration interval = std::chrono::seconds{1};        // least time from one report to the next
    Duration interval_max = std::chrono::seconds{300};  // the same for a small change
};

class LoadTable {
  public:
    struct OwnUpdate {
        UpdateKey key;
        LoadChange change = LoadChange::small;
    };

    // `pool`: where reports of others are shared; null: nowhere.
    explicit LoadTable(std::shared_ptr<InternPool> pool = nullptr) : pool_(std::move(pool)) {}

    // Of a peer that the caller knows to be alive in this generation; `rule`: with that peer's replicas. None when it
    // held the same or newer.
    LoadChange apply(TimePoint now, const wire::LoadGroup& group, const LoadReportRule& rule);
    void drop(PeerId peer);

    // All loads of our own replicas.
    void set_own(TimePoint now, PeerId self, Generation generation, std::span<const wire::LoadReport> reports);
    // When the first of our parts is due, possibly in the past; nothing while all say what was reported last.
    std::optional<TimePoint> own_update_due(PeerId self, const LoadReportRule& rule) const;
    // Our parts that are due. They count as reported. To be called after every set_own.
    std::vector<OwnUpdate> take_own_updates(TimePoint now, PeerId self, const LoadReportRule& rule);

    // As it would leave now; nothing when there is none.
    std::optional<wire::LoadGroup> group(TimePoint now, UpdateKey key) const;
    // Keys of all parts, by peer and part.
    std::vector<UpdateKey> keys() const;
    // Number of parts of one peer.
    std::size_t parts(PeerId peer) const;

    // Sorted by peer. Shares what did not change since the last call.
    LoadList by_peer();

  private:
    struct Part {
        Generation generation;
        std::uint64_t number = 0;
        TimePoint measured;
        std::shared_ptr<const LoadReports> reports;  // without their age; null: not heard of yet
    };
    struct Held {
        std::vector<Part> parts;
        std::shared_ptr<const PeerLoads> published;  // null when it is out of date
    };
    struct Reported {
        TimePoint at;                                // or when there was first something to report
        std::shared_ptr<const LoadReports> reports;  // null: not yet
        std::optional<TimePoint> soon_since;
    };

    const Part* find(UpdateKey key) const;
    LoadChange own_change(std::size_t part, const LoadReports& reports, const LoadReportRule& rule) const;
    std::optional<TimePoint> due(std::size_t part, const LoadReports& reports, const LoadReportRule& rule) const;
    // Created if it is new; it will be published again.
    Held& changed(PeerId peer);
    std::size_t position(PeerId peer) const;
    LoadList::Chunk publish(std::size_t chunk);
    PeerLoads loads_of(std::size_t at) const;

    std::shared_ptr<InternPool> pool_;
    // Sorted by peer. Two arrays, because a search then reads a few cache lines.
    std::vector<PeerId> peers_;
    std::vector<Held> held_;
    LoadList::Chunks chunks_;         // published; null when one is out of date
    std::vector<Reported> reported_;  // our own parts, as last reported
    std::uint64_t number_ = 0;
};

}  // namespace exa::membership
