// GossipQueue: fills packets with updates of three classes: facts (who is suspect, dead or back) before records before
// loads.
//
// Each class that has updates gets a share of every packet, and what is left goes by rank. An update that found no room
// although its class sent nothing is placed first in the next packet: so big records and the lowest class get through a
// flood of facts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/ids.h"
#include "base/time.h"
#include "membership/broadcast_queue.h"
#include "membership/load_table.h"
#include "membership/roster.h"
#include "wire/gossip.h"

namespace exa::membership {

class GossipQueue {
  public:
    // Least share of a packet's room, in percent: facts, records, loads.
    static constexpr std::array<std::size_t, 3> share_percent = {50, 35, 15};
    // Most records and most loads that wait. Packets would take many seconds for more; comparisons, which begin long
    // before that (Outbox::gossip), bring the rest. Facts are small and all kept.
    static constexpr std::size_t state_max = 512;
    static constexpr std::size_t records_backlog = 64;
    // About what a few probes carry.
    static constexpr std::size_t loads_few = 16;

    void add_fact(PeerId subject) { queues_[fact].put({subject, 0}); }
    // `base`: the version that was spread before this one; 0 for a peer that is new.
    void add_record(PeerId peer, std::uint64_t base) { queues_[record].put({peer, 0}, base); }
    // `soon`: others should hear of it before the next probes.
    void add_load(UpdateKey key, bool soon);
    // The record and loads of a peer that is gone: nobody needs them.
    void drop_state(PeerId peer);
    void drop(PeerId peer);
    // All records, when there are so many that comparisons are the faster way (records_backlog).
    void drop_backlog();
    void clear();

    bool empty() const;
    std::size_t records() const { return queues_[record].size(); }
    std::size_t size() const;
    // Facts or records: others wait for them.
    bool has_urgent() const { return !queues_[fact].empty() || !queues_[record].empty(); }
    // Loads that should be spread soon.
    bool has_soon() const { return loads_soon_ && !queues_[load].empty(); }
    // After a round of packets of our own: the few loads that are left may ride on others.
    void end_round() { loads_soon_ = loads_soon_ && queues_[load].size() > loads_few; }

    // Adds to what is in `packet` already, `room` bytes (of wire::size_bound) at most. Updates that were sent `budget`
    // times are done, loads after fewer.
    void fill(TimePoint now, const Roster& roster, const LoadTable& loads, std::uint32_t budget, std::size_t room,
              wire::Packet& packet);

  private:
    enum Class : std::size_t { fact, record, load };
    struct Filling;

    // Bytes used, at most `room`, for at most `items_max` updates.
    std::size_t take(Class from, Filling& filling, std::size_t room, std::size_t items_max);

    std::array<BroadcastQueue, 3> queues_{BroadcastQueue(), BroadcastQueue(state_max), BroadcastQueue(state_max)};
    std::optional<Class> owed_;
    bool loads_soon_ = false;
};

}  // namespace exa::membership
