#include "membership/channel_watch.h"

#include <utility>

namespace exa::membership {

namespace {

// A ping and its answer are lost together in one of five on a line that loses a tenth: not so often in a row.
constexpr std::uint32_t misses_blocked = 5;
// Peers in doubt that are pinged with one probe.
constexpr std::size_t checked_at_once = 8;

}  // namespace

std::vector<BrokenChannel> ChannelWatch::broken() const {
    std::vector<BrokenChannel> all;
    for (const auto& [peer, datagrams] : datagrams_)
        if (datagrams.is_blocked) all.push_back({peer, Channel::datagrams, datagrams.since});
    for (const auto& [peer, link] : links_)
        if (link.is_blocked) all.push_back({peer, Channel::link_to, link.since});
    for (const auto& [peer, since] : deaf_) all.push_back({peer, Channel::link_from, since});
    return all;
}

bool ChannelWatch::is_link_blocked(PeerId peer) const {
    const auto at = links_.find(peer);
    return at != links_.end() && at->second.is_blocked;
}

void ChannelWatch::note_indirect_answer(PeerId peer) {
    if (datagrams_.size() < watched_max) datagrams_.try_emplace(peer);
}

Effects ChannelWatch::check(const Step& step, bool all_are_blocked) {
    Effects effects;
    std::erase_if(datagrams_, [&](const auto& watched) {
        const Peer* peer = step.roster.find(watched.first);
        return peer == nullptr || !peer->is_live();
    });
    for (std::size_t i = 0; i < std::min(checked_at_once, datagrams_.size()); ++i) {
        auto at = datagrams_.upper_bound(next_checked_);
        if (at == datagrams_.end()) at = datagrams_.begin();
        next_checked_ = at->first;
        Datagrams& datagrams = at->second;
        ++datagrams.misses;
        if (datagrams.misses > misses_blocked && !datagrams.is_blocked && !all_are_blocked) {
            datagrams.is_blocked = true;
            datagrams.since = step.now;
            effects.notices.push_back({EventKind::pair_udp_blocked, at->first});
        }
        effects.send(step.roster.find(at->first)->record->gossip, at->first,
                     make_packet(wire::PacketKind::ping, step.numbers.next(), at->first));
    }
    return effects;
}

Effects ChannelWatch::note_direct_answer(const Step&, PeerId peer) {
    Effects effects;
    const auto at = datagrams_.find(peer);
    if (at == datagrams_.end()) return effects;
    if (at->second.is_blocked) effects.notices.push_back({EventKind::pair_udp_restored, peer});
    datagrams_.erase(at);
    return effects;
}

bool ChannelWatch::note_link_broken(const Step& step, PeerId id, Effects& effects) {
    const Peer& peer = *step.roster.find(id);
    if (links_.size() >= watched_max && !links_.contains(id)) return true;
    const auto [at, is_first] = links_.try_emplace(id, Link{peer.record->generation, step.now});
    Link& link = at->second;
    if (link.generation != peer.record->generation) link = {peer.record->generation, step.now};
    if (step.config.mutant == Mutant::links_flap) return true;
    if (link.is_blocked) return false;
    const bool has_refuted = peer.liveness == Liveness::alive && peer.since > link.broke;
    if (is_first || !has_refuted) return true;
    link.is_blocked = true;
    link.since = step.now;
    effects.notices.push_back({EventKind::pair_link_blocked, id});
    return false;
}

Effects ChannelWatch::note_link_works(const Step&, PeerId peer) {
    Effects effects;
    const auto at = links_.find(peer);
    if (at == links_.end()) return effects;
    if (at->second.is_blocked) effects.notices.push_back({EventKind::pair_link_restored, peer});
    links_.erase(at);
    return effects;
}

Effects ChannelWatch::hear(const Step& step, PeerId peer, bool cannot_link) {
    Effects effects;
    if (cannot_link == deaf_.contains(peer)) return effects;
    if (!cannot_link) {
        deaf_.erase(peer);
        effects.notices.push_back({EventKind::pair_link_restored, peer});
    } else if (deaf_.size() < watched_max) {
        deaf_.emplace(peer, step.now);
        effects.notices.push_back({EventKind::pair_link_blocked, peer});
    }
    return effects;
}

void ChannelWatch::forget(PeerId peer) {
    datagrams_.erase(peer);
    links_.erase(peer);
    deaf_.erase(peer);
}

}  // namespace exa::membership
