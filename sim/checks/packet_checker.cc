#include "sim/checks/packet_checker.h"

#include <fmt/format.h>

namespace exa::sim {

void PacketChecker::before_stranger(const Peer& peer) {
    if (watches("S1") || watches("S2")) before_ = fingerprint(*peer.node);
}

void PacketChecker::after_stranger(const Peer& peer, Origin origin, bool taken) {
    if (!before_) return;
    ++context_.measured.strangers;
    const Fingerprint after = fingerprint(*peer.node);
    // Damage shows; behind encryption replays are known for what they are, too, and without it only what a replay says
    // can be judged.
    const bool replayed = origin == Origin::replayed;
    const bool refused = !replayed || context_.scenario.cluster.encrypted;
    if (refused && (taken || after != *before_))
        violate(replayed ? "S2" : "S1",
                fmt::format("a datagram that is {} {} peer {}", replayed ? "a replay" : "no member's",
                            after != *before_ ? "changed" : "was taken by", peer.host));
    else if (replayed && goes_back(before_->beliefs, after.beliefs))
        violate("S2",
                fmt::format("a datagram that peer {} had taken before took it back in what it believes", peer.host));
}

}  // namespace exa::sim
