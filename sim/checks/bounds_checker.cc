#include "sim/checks/bounds_checker.h"

#include <fmt/format.h>

#include <algorithm>

#include "membership/config.h"
#include "wire/gossip.h"

namespace exa::sim {

namespace {

// Timers of a peer that are not about another one, and probes that it makes for others at once (membership's own
// limit).
constexpr std::size_t own_timers = 16;
constexpr std::size_t indirect_probes_max = 256;

}  // namespace

void BoundsChecker::check_length(Host from, bool link, std::size_t bytes) {
    const std::size_t most = link ? wire::sync_bytes_max : wire::datagram_bytes_max;
    if (bytes > most)
        violate("B1", fmt::format("peer {} sends {} bytes in one {}, {} are allowed", from, bytes,
                                  link ? "link message" : "datagram", most));
}

void BoundsChecker::check_sizes(const Peer& peer) {
    const Scenario& scenario = context_.scenario;
    const membership::Config& config = scenario.cluster.membership;
    const std::size_t members = scenario.bounds.members > 0 ? scenario.bounds.members : config.members_max;
    const std::size_t load_groups = (scenario.cluster.replicas + wire::load_group_max - 1) / wire::load_group_max;
    const membership::Sizes sizes = peer.node->membership().sizes();
    membership::Sizes& seen = context_.measured.sizes;
    const auto bound = [&](std::string_view what, std::size_t size, std::size_t most, std::size_t& peak) {
        peak = std::max(peak, size);
        if (size > most)
            violate("B1", fmt::format("peer {} holds {} {}, the bound is {}", peer.host, size, what, most));
    };
    bound("members", sizes.peers, members, seen.peers);
    bound("dead and lost peers", sizes.tombstones, config.tombstones_max, seen.tombstones);
    bound("updates", sizes.updates, sizes.peers * (2 + load_groups), seen.updates);
    bound("probes for others", sizes.indirect_probes, indirect_probes_max, seen.indirect_probes);
    bound("timers", sizes.timers, own_timers + 3 * sizes.peers + sizes.indirect_probes, seen.timers);
    bound("pull requests under way", sizes.asked, members, seen.asked);
    bound("pull requests to send", sizes.pulls, sizes.peers, seen.pulls);
    bound("challenges", sizes.challenges, sizes.peers, seen.challenges);
    std::size_t waiting = 0;
    bound("datagrams in its socket", peer.inbox_datagrams, scenario.cluster.socket_datagrams, waiting);
}

void BoundsChecker::sweep(WorldTime) {
    if (!watches("B1")) return;
    for (Host host = 0; host < context_.cluster.size(); ++host)
        if (const Peer& peer = context_.cluster.peer(host); peer.is_up()) check_sizes(peer);
}

void BoundsChecker::check_totals() {
    for (Host host = 0; host < context_.cluster.size(); ++host) {
        const Peer& peer = context_.cluster.peer(host);
        if (peer.is_up() && peer.node->counters().dropped > 0)
            violate("B1", fmt::format("peer {} dropped {} outputs", host, peer.node->counters().dropped));
    }
    const Duration waited = context_.cluster.network().control_wait_max();
    if (waited > context_.scenario.bounds.control)
        violate("B3", fmt::format("a membership message waited {:.3f} s for its host's line, {:.3f} s is the bound",
                                  seconds_of(waited), seconds_of(context_.scenario.bounds.control)));
}

}  // namespace exa::sim
