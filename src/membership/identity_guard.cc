#include "membership/identity_guard.h"

#include <algorithm>
#include <utility>

namespace exa::membership {

namespace {

// Peers in doubt; above that all are forgotten, which at worst reports them twice.
constexpr std::size_t doubts_max = 4096;
// What one message said of another instance of ours is remembered for so long. Seeds are dialled more often than that.
constexpr std::chrono::seconds own_doubt_lasts{30};

}  // namespace

IdentityGuard::Sender IdentityGuard::check_sender(const Roster& roster, const wire::Header& header) {
    const Peer* peer = roster.find(header.sender);
    if (peer == nullptr || header.generation > peer->record->generation) return Sender::accepted;
    if (header.generation < peer->record->generation) return Sender::stale;
    if (header.instance != peer->instance) return Sender::in_doubt;
    const bool refuted = header.incarnation > peer->incarnation && peer->liveness != Liveness::left;
    return refuted ? Sender::refuted : Sender::accepted;
}

IdentityGuard::Own IdentityGuard::check_own(const Roster& roster, Generation generation, std::uint32_t instance) {
    const Peer& own = roster.own();
    if (instance == own.instance) return Own::ours;
    return generation < own.record->generation ? Own::earlier : Own::conflict;
}

bool IdentityGuard::is_confirmed(TimePoint now, Generation generation, std::uint64_t message) {
    const bool is_known =
        own_doubt_ && own_doubt_->generation == generation && now - own_doubt_->heard < own_doubt_lasts;
    if (is_known && own_doubt_->message == message) return false;
    own_doubt_ = {generation, message, now};
    return is_known;
}

bool IdentityGuard::report(PeerId peer, std::uint32_t instance) {
    if (doubts_.size() >= doubts_max) doubts_.clear();
    const auto [at, is_new] = doubts_.try_emplace(peer);
    return std::exchange(at->second.instance, instance) != instance || is_new;
}

Effects IdentityGuard::challenge(const Step& step, PeerId peer) {
    Effects effects;
    Doubt& doubt = doubts_[peer];
    if (step.now < doubt.asked_until) return effects;
    doubt.asked_until = step.now + step.config.pull_timeout;
    doubt.seq = step.numbers.next();
    effects.send(step.roster.find(peer)->record->gossip, peer, make_packet(wire::PacketKind::ping, doubt.seq, peer));
    return effects;
}

bool IdentityGuard::is_successor(const Roster& roster, const wire::Packet& packet) {
    const PeerId id = packet.header.sender;
    const auto doubt = doubts_.find(id);
    if (doubt == doubts_.end() || packet.kind != wire::PacketKind::ack || packet.target != id ||
        packet.seq != doubt->second.seq)
        return false;
    doubts_.erase(doubt);
    const Peer* peer = roster.find(id);
    return peer != nullptr && peer->record->generation == packet.header.generation &&
           peer->instance != packet.header.instance;
}

}  // namespace exa::membership
