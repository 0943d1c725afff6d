// How a Membership tells the lives of a peer apart: by generation, and among those of one generation by what answers at
// the peer's own address.
//
// Two lives have one generation when a data directory was cloned, or when a disk lost a generation that it had promised
// to keep. The clone lives elsewhere while its original goes on; an instance whose disk lied stands where the one
// before it stood. So a doubtful instance is not believed, but the address that we know is asked, and who answers there
// is the peer.
#include <utility>

#include "membership/membership.h"

namespace exa::membership {

namespace {

// Doubtful lives; above that all are forgotten, which at worst tells of them twice.
constexpr std::size_t doubts_max = 4096;

}  // namespace

// True when it is merely our own packet that came back.
bool Membership::meet_self(const wire::Header& header) {
    if (header.instance == instance_) return true;
    if (header.generation < record().generation || stage_ == Stage::over) return false;
    // The one that the cluster has taken in already stays, unless a newer instance has come up beside it.
    const bool refuse = header.generation > record().generation || !joined_;
    conflict(self(), header.generation, header.instance, refuse);
    if (refuse) stop();
    return false;
}

// Each doubtful instance is told of once; 0 is one that only others spoke of.
Membership::Doubt& Membership::conflict(PeerId id, Generation generation, std::uint32_t instance, bool refuse) {
    if (doubts_.size() >= doubts_max) doubts_.clear();
    const auto [at, is_new] = doubts_.try_emplace(id);
    if (is_new || at->second.instance != instance) push({EventKind::id_conflict, id, generation, {}, refuse});
    at->second.instance = instance;
    return at->second;
}

void Membership::doubt(TimePoint now, PeerId id, Generation generation, std::uint32_t instance) {
    Doubt& doubt = conflict(id, generation, instance, false);
    if (stage_ != Stage::member || now < doubt.asked_until) return;
    doubt.asked_until = now + config_.pull_timeout;
    doubt.seq = numbers_.next();
    send(now, roster_.find(id)->record->gossip, id, make_packet(wire::PacketKind::ping, doubt.seq, id), false);
}

bool Membership::meet(TimePoint now, const wire::Header& header) {
    const Peer* peer = roster_.find(header.sender);
    if (peer == nullptr) return true;
    if (header.generation < peer->record->generation) {
        ++counters_.stale;
        return false;
    }
    if (header.generation > peer->record->generation) return true;
    if (header.instance != peer->instance) {
        ++counters_.stale;
        doubt(now, header.sender, header.generation, header.instance);
        return false;
    }
    if (header.incarnation > peer->incarnation && peer->liveness != Liveness::left)
        mark_alive(now, header.sender, header.incarnation);
    return true;
}

// The answer to doubt()'s question, from an instance that has the generation of the one we know.
void Membership::meet_successor(TimePoint now, const wire::Packet& packet) {
    const PeerId id = packet.header.sender;
    const auto doubt = doubts_.find(id);
    if (doubt == doubts_.end() || packet.kind != wire::PacketKind::ack || packet.target != id ||
        packet.seq != doubt->second.seq)
        return;
    doubts_.erase(doubt);
    const Peer* peer = roster_.find(id);
    if (peer == nullptr || peer->record->generation != packet.header.generation ||
        peer->instance == packet.header.instance)
        return;
    roster_.replace_instance(now, id, packet.header.instance, packet.header.incarnation);
    end_instance(now, id);
    view_stale_ = true;
    emit(EventKind::joined, id);
    check_name(id);
    news(now);
}

// What was known of a peer's earlier instance, but for what the roster holds, is of no use to the next one.
void Membership::end_instance(TimePoint now, PeerId id) {
    for (const TimerKind kind : {TimerKind::suspicion, TimerKind::lost, TimerKind::forget})
        timers_.cancel({kind, id.value});
    suspicions_.end(id);
    queue_.drop(id);
    loads_.drop(id);
    settle_rack(now, roster_.find(id)->record->rack);
}

}  // namespace exa::membership
