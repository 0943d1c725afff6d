#include "sim/checks/fingerprint.h"

#include <algorithm>
#include <tuple>

#include "base/hash.h"

namespace exa::sim {

namespace {

std::uint64_t hash_of(const Belief& belief, std::uint64_t seed) {
    std::uint64_t hash = hash64(belief.peer.value, belief.generation.value, seed);
    hash = hash64(belief.incarnation.value << 4 | static_cast<std::uint64_t>(belief.liveness), belief.version, hash);
    return hash64(belief.life, belief.hidden ? 1 : 0, hash);
}

bool is_less(const Belief& after, const Belief& before) {
    const auto order = [](const Belief& belief) {
        return std::tuple(belief.generation, belief.incarnation, belief.liveness);
    };
    if (order(after) < order(before)) return true;
    return after.generation == before.generation && (after.version < before.version || after.life != before.life);
}

}  // namespace

Fingerprint fingerprint(const node::Node& node) {
    const membership::Membership& membership = node.membership();
    const membership::Roster& roster = membership.roster();
    Fingerprint print;
    print.beliefs.reserve(roster.size());
    std::uint64_t beliefs = 0;
    std::uint64_t accused = 0;
    for (std::size_t i = 0; i < roster.size(); ++i) {
        const membership::Peer& peer = roster.peer(i);
        print.beliefs.push_back({peer.record->id, peer.record->generation, peer.incarnation, peer.liveness,
                                 peer.record->version, peer.instance, peer.out_of_view});
        beliefs = hash_of(print.beliefs.back(), beliefs);
        accused =
            hash64(peer.accuser.value, static_cast<std::uint64_t>(peer.since.time_since_epoch().count()), accused);
    }
    const membership::Sizes sizes = membership.sizes();
    const std::uint64_t queues = hash64(hash64(sizes.updates, sizes.timers, sizes.indirect_probes),
                                        hash64(sizes.asked, sizes.pulls, sizes.challenges));
    const auto next = static_cast<std::uint64_t>(node.next_timeout().time_since_epoch().count());
    print.everything = hash64(hash64(beliefs, accused, queues), hash64(next, membership.local_health()),
                              membership.is_joined() ? 1 : 0);
    return print;
}

std::optional<PeerId> goes_back(const std::vector<Belief>& before, const std::vector<Belief>& after) {
    for (const Belief& was : before)
        if (const auto at = std::ranges::lower_bound(after, was.peer, {}, &Belief::peer);
            at == after.end() || at->peer != was.peer || is_less(*at, was))
            return was.peer;
    for (const Belief& is : after)
        if (!std::ranges::binary_search(before, is.peer, {}, &Belief::peer)) return is.peer;
    return std::nullopt;
}

}  // namespace exa::sim
