#include "sim/checks/fingerprint.h"

#include "base/hash.h"

namespace exa::sim {

Fingerprint fingerprint(const node::Node& node) {
    const membership::Membership& membership = node.membership();
    const membership::Roster& roster = membership.roster();
    Fingerprint print;
    std::uint64_t accused = 0;
    for (std::size_t i = 0; i < roster.size(); ++i) {
        const membership::Peer& peer = roster.peer(i);
        print.beliefs = hash64(peer.record->id.value, peer.record->generation.value, print.beliefs);
        print.beliefs = hash64(peer.incarnation.value << 4 | static_cast<std::uint64_t>(peer.liveness),
                               peer.record->version, print.beliefs);
        print.beliefs = hash64(peer.life, peer.hidden ? 1 : 0, print.beliefs);
        accused =
            hash64(peer.accuser.value, static_cast<std::uint64_t>(peer.since.time_since_epoch().count()), accused);
    }
    const membership::Sizes sizes = membership.sizes();
    const std::uint64_t queues =
        hash64(hash64(sizes.news, sizes.timers, sizes.relays), hash64(sizes.asked, sizes.wants, sizes.clashes));
    const auto next = static_cast<std::uint64_t>(node.next_timeout().time_since_epoch().count());
    print.everything = hash64(hash64(print.beliefs, accused, queues), hash64(next, membership.health()),
                              membership.is_joined() ? 1 : 0);
    return print;
}

}  // namespace exa::sim
