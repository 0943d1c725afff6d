// Driver: one Membership, fed with hand-made messages; what it sends is decoded again.
#pragma once

#include <algorithm>
#include <vector>

#include "membership/membership.h"
#include "samples.h"

namespace exa::membership::samples {

inline const ClusterId cluster = cluster_id("test");

struct Sent {
    Endpoint to;
    wire::Packet packet;
};

struct SentSync {
    PeerId to;
    wire::Sync sync;
};

class Driver {
  public:
    explicit Driver(Config config = {}, wire::PeerRecord own = record(me.value, 5))
        : core(config, cluster, own, 1, start) {}

    static wire::Header header(std::uint64_t peer, std::uint64_t generation = 1, std::uint64_t incarnation = 0) {
        return {cluster, PeerId{peer}, Generation{generation}, Incarnation{incarnation}, 1, 1};
    }

    // First of the cluster, with peers 101 .. known whose updates have been spread.
    void gather(std::size_t others) {
        core.join(now, {});
        wire::Sync sync;
        sync.kind = wire::SyncKind::updates;
        for (std::uint64_t id = 101; id < 101 + others; ++id) {
            sync.header = header(id);
            sync.records = {whole(id)};
            give(sync).value();
        }
        run_for(std::chrono::seconds{3}, true);
        sent.clear();
        syncs.clear();
        events.clear();
    }

    Result<void> give(const wire::Packet& packet) {
        const auto result = core.handle_packet(now, endpoint(packet.header.sender.value), wire::encode(packet).value());
        drain();
        return result;
    }
    Result<void> give(const wire::Sync& sync) {
        const auto result = core.handle_sync(now, sync.header.sender, wire::encode(sync).value());
        drain();
        return result;
    }
    Result<void> give(std::uint64_t from, std::vector<wire::Fact> facts) {
        wire::Packet packet;
        packet.header = header(from);
        packet.facts = std::move(facts);
        return give(packet);
    }

    // Lets time pass; with `answer`, every ping to somebody is answered at once.
    void run_for(Duration duration, bool answer = false) {
        const TimePoint until = now + duration;
        while (core.next_timeout() <= until) {
            now = std::max(now, core.next_timeout());
            core.handle_timeout(now);
            const std::size_t first = sent.size();
            drain();
            const std::vector<Sent> fresh(sent.begin() + static_cast<std::ptrdiff_t>(first), sent.end());
            for (const Sent& item : fresh)
                if (answer && item.packet.kind == wire::PacketKind::ping && item.packet.target != PeerId{})
                    give(ack_of(item.packet)).value();
        }
        now = until;
    }

    static wire::Packet ack_of(const wire::Packet& ping) {
        wire::Packet ack;
        ack.header = header(ping.target.value);
        ack.kind = wire::PacketKind::ack;
        ack.seq = ping.seq;
        ack.target = ping.target;
        return ack;
    }

    void drain() {
        while (auto transmit = core.poll_transmit())
            sent.push_back({transmit->to, wire::decode_packet(transmit->bytes, cluster).value()});
        while (auto sync = core.poll_sync())
            syncs.push_back({sync->to, wire::decode_sync(sync->bytes, cluster).value()});
        while (auto event = core.poll_event()) events.push_back(*event);
    }

    std::vector<Sent> sent_of(wire::PacketKind kind) const {
        std::vector<Sent> found;
        std::ranges::copy_if(sent, std::back_inserter(found),
                             [&](const Sent& item) { return item.packet.kind == kind; });
        return found;
    }
    std::vector<SentSync> syncs_of(wire::SyncKind kind) const {
        std::vector<SentSync> found;
        std::ranges::copy_if(syncs, std::back_inserter(found),
                             [&](const SentSync& item) { return item.sync.kind == kind; });
        return found;
    }
    std::size_t told(EventKind kind, PeerId peer) const {
        return static_cast<std::size_t>(std::ranges::count_if(
            events, [&](const Event& event) { return event.kind == kind && event.peer == peer; }));
    }
    Liveness liveness(std::uint64_t peer) { return core.view()->find(PeerId{peer})->liveness; }

    Membership core;
    TimePoint now = start;
    std::vector<Sent> sent;
    std::vector<SentSync> syncs;
    std::vector<Event> events;
};

inline wire::Fact fact(std::uint64_t subject, wire::MemberState state, std::uint64_t incarnation = 0,
                       std::uint64_t accuser = 0, std::uint64_t generation = 1) {
    return {PeerId{subject}, Generation{generation}, Incarnation{incarnation}, state, PeerId{accuser}};
}

}  // namespace exa::membership::samples
