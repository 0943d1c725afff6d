// Step and Effects: how the parts of Membership are called, and what they answer.
//
// A part (Prober, SuspicionTable, IdentityGuard, Bootstrap, ...) owns its state and nothing else. It may read and use
// what a Step refers to while it is called, keeps none of it, and returns what is to be done as Effects. Membership,
// which composes the parts, carries the effects out.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/endpoint.h"
#include "base/ids.h"
#include "base/rng.h"
#include "base/time.h"
#include "membership/config.h"
#include "membership/event.h"
#include "membership/roster.h"
#include "membership/timers.h"
#include "wire/gossip.h"

namespace exa::membership {

// Sequence numbers of the pings and requests that a peer sends, by which it knows their answers: 1, 2, ...
class Sequence {
  public:
    std::uint64_t next() { return ++last_; }

  private:
    std::uint64_t last_ = 0;
};

// One call of a part: what it may read, and Membership's generators and timers, which it may use.
struct Step {
    TimePoint now;
    const Config& config;
    const Roster& roster;
    Rng& rng;
    Sequence& numbers;
    Timers& timers;
};

// A packet to send. Membership adds the header, a ping's round and roster hash, and the updates that still fit.
struct PacketOut {
    Endpoint at;
    std::optional<PeerId> to;  // who is meant; nothing: the receiver's state does not matter
    wire::Packet packet;
    bool with_record = false;  // add our own record
};

// A message to send over the peer link. Membership adds the header.
struct SyncOut {
    PeerId to;
    wire::Sync sync;
};

// An event about `peer`, whose generation, incarnation and instance Membership adds as the roster has them.
struct Notice {
    EventKind kind = EventKind::joined;
    PeerId peer;
    PeerId other{};
    bool refuse = false;
    bool operator==(const Notice&) const = default;
};

// What Membership is to do, in the order of the members.
struct Effects {
    std::vector<PacketOut> packets;
    std::vector<SyncOut> syncs;
    std::vector<Notice> notices;
    std::vector<PeerId> accused;  // of these we have evidence of our own that they do not answer

    void send(const Endpoint& at, std::optional<PeerId> to, wire::Packet packet, bool with_record = false) {
        packets.push_back({at, to, std::move(packet), with_record});
    }
};

inline wire::Packet make_packet(wire::PacketKind kind, std::uint64_t seq, PeerId target) {
    wire::Packet packet;
    packet.kind = kind;
    packet.seq = seq;
    packet.target = target;
    return packet;
}

}  // namespace exa::membership
