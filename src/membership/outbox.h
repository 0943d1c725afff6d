// Outbox: everything that leaves a peer: datagrams, link messages, events, and the updates that spread.
//
// Updates (who is suspect, dead or back; new versions of records; loads) wait in a gossip queue. They ride on every
// packet that leaves for another reason, and rounds of gossip send packets of their own while any are left. Outputs
// that nobody fetches are bounded: the oldest is dropped and counted.
//
// Timer: gossip -> gossip().
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "base/bytes.h"
#include "base/endpoint.h"
#include "base/ids.h"
#include "base/time.h"
#include "membership/event.h"
#include "membership/gossip_queue.h"
#include "membership/load_table.h"
#include "membership/step.h"
#include "wire/gossip.h"

namespace exa::membership {

struct Transmit {
    Endpoint to;
    Bytes bytes;
    PeerId peer;  // who is meant; 0: whoever is there
};

struct SyncTransmit {
    PeerId to;
    // Where its links are accepted; unspecified while its record is unknown: then only an open link can be used.
    Endpoint link;
    Bytes bytes;
    // Of the instance that it is meant for: what handle_link_broken() wants to know when no link can be opened.
    Generation generation;
};

class Outbox {
  public:
    // What a packet says besides its own content.
    struct Contents {
        wire::Header header;
        const LoadTable& loads;
    };
    struct Counts {
        std::uint64_t packets = 0;
        std::uint64_t syncs = 0;
        std::uint64_t dropped = 0;  // outputs that nobody fetched
    };

    explicit Outbox(TimePoint last_gossip) : last_gossip_(last_gossip) {}

    // Updates that wait to be spread.
    GossipQueue& updates() { return updates_; }
    const GossipQueue& updates() const { return updates_; }
    // Sets the timer for the next round of gossip: at once in a quiet cluster, at most a gossip interval later in a
    // busy one. Small changes of load wait for probes and their answers.
    void schedule(const Step& step);
    // Sends updates to gossip_fanout random peers. True when so many records wait that comparisons, which bring each
    // peer each record once, are the faster way.
    bool gossip(const Step& step, const Contents& contents);

    // Adds the header, our own record when asked for, the fact about the receiver if it may have to refute it, and
    // updates while there is room.
    void send(const Step& step, const Contents& contents, PacketOut out);
    void send(const Config& config, const Roster& roster, const wire::Header& header, SyncOut out);
    void push(const Event& event);

    std::optional<Transmit> poll_transmit();
    std::optional<SyncTransmit> poll_sync();
    std::optional<Event> poll_event();
    const Counts& counts() const { return counts_; }

  private:
    GossipQueue updates_;
    TimePoint last_gossip_;
    std::deque<Transmit> transmits_;
    std::deque<SyncTransmit> syncs_;
    std::deque<Event> events_;
    Counts counts_;
};

// How often every peer sends one update among `live` peers.
std::uint32_t retransmits(const Config& config, std::size_t live);

}  // namespace exa::membership
