#include "sim/checks/truth.h"

#include <fmt/format.h>

#include <algorithm>

namespace exa::sim {

using Told = membership::EventKind;
using membership::Liveness;

std::size_t Truth::number_of(const Peer& peer) {
    const auto [at, is_new] = by_id_.emplace(peer.id.value, subjects_.size());
    if (is_new) {
        Subject& subject = subjects_.emplace_back();
        subject.id = peer.id;
        subject.host = peer.host;
    }
    return at->second;
}

std::optional<std::size_t> Truth::find(PeerId id) const {
    const auto at = by_id_.find(id.value);
    if (at == by_id_.end()) return std::nullopt;
    return at->second;
}

Opinion& Truth::cell(Host observer, std::size_t number) {
    std::vector<Opinion>& row = opinions_[observer];
    if (row.size() <= number) row.resize(std::max(subjects_.size(), number + 1));
    return row[number];
}

std::string Truth::name(std::size_t number) const {
    return fmt::format("peer {} (generation {})", subjects_[number].host, subjects_[number].generation);
}

void Truth::note_up(WorldTime now, const Peer& peer) {
    Subject& subject = subjects_[number_of(peer)];
    if (subject.generation != peer.generation.value)
        subject.earlier.reset();
    else
        subject.earlier = std::max(subject.earlier.value_or(Incarnation{}), subject.incarnation);
    subject.generation = peer.generation.value;
    subject.instance = peer.node->membership().instance();
    subject.newest = std::max(subject.newest, subject.generation);
    subject.up = true;
    subject.up_at = now;
    ++up_;
    opinions_[peer.host].reserve(cluster_.size());
    opinions_[peer.host].assign(subjects_.size(), {});
}

void Truth::note_down(WorldTime now, const Peer& peer) {
    Subject& subject = subjects_[number_of(peer)];
    opinions_[peer.host].clear();
    subject.up = false;
    subject.left = peer.is_draining() && peer.node->membership().is_over();
    subject.down_at = now;
    subject.incarnation = peer.node->membership().incarnation();
    --up_;
}

void Truth::note_event(Host observer, std::size_t number, const membership::Event& event) {
    Opinion& opinion = cell(observer, number);
    switch (event.kind) {
        case Told::joined:
        case Told::alive:
            opinion.known = true;
            opinion.liveness = Liveness::alive;
            opinion.generation = event.generation.value;
            opinion.instance = event.instance;
            break;
        case Told::suspect:
            opinion.liveness = Liveness::suspect;
            break;
        case Told::dead:
            opinion.liveness = Liveness::dead;
            opinion.ended = event.incarnation;
            break;
        case Told::lost:
            opinion.liveness = Liveness::lost;
            break;
        case Told::left:
            opinion.liveness = Liveness::left;
            opinion.ended = event.incarnation;
            break;
        case Told::forgotten:
            opinion.known = false;
            break;
        default:
            break;
    }
}

}  // namespace exa::sim
