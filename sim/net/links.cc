#include "sim/net/links.h"

#include <algorithm>

namespace exa::sim {

LinkResult Links::send(WorldTime now, LinkPool pool, const LinkEnds& ends, std::size_t bytes) {
    const NetConfig& config = fabric_.config();
    const Key key{ends.from, pool, ends.to};
    auto at = links_.find(key);
    if (at != links_.end() && now - at->second.used > config.link_idle) {
        links_.erase(at);
        at = links_.end();
    }
    const Fabric::LinkFate fate =
        fabric_.send_link(now, ends.from, ends.to, bytes, pool == LinkPool::data ? Cargo::data : Cargo::control);
    if (at == links_.end()) {
        const bool answers = ends.to_boot != 0 && fate.passes && fabric_.reaches(ends.to, ends.from, false);
        if (!answers || fate.delay > config.connect_timeout)
            return {LinkResult::Kind::fails, now + config.connect_timeout, true};
        // Connection and hellos before the first byte of ours: two round trips.
        const WorldTime arrival = now + 5 * fate.delay;
        links_[key] = {ends.to_boot, ends.to_generation, arrival, now};
        return {LinkResult::Kind::arrives, arrival, true};
    }
    Link& link = at->second;
    link.used = now;
    if (ends.to_boot != link.to_boot && ends.to_boot != 0 && fate.passes &&
        fabric_.reaches(ends.to, ends.from, false)) {
        // A new process knows nothing of this connection and resets it.
        const Generation former = link.to_generation;
        links_.erase(at);
        return {LinkResult::Kind::fails, now + 2 * fate.delay, false, former};
    }
    if (ends.to_boot != link.to_boot) return {LinkResult::Kind::vanishes, world_never, false};
    if (!fate.passes) {
        // TCP keeps trying at doubling intervals, so the bytes come some time after the way is open again.
        if (fate.until == world_never || fate.until - now > config.link_idle)
            return {LinkResult::Kind::vanishes, world_never, false};
        link.last_arrival = std::max(link.last_arrival, fate.until + (fate.until - now) / 2 + fate.delay);
        return {LinkResult::Kind::arrives, link.last_arrival, false};
    }
    link.last_arrival = std::max(link.last_arrival, now + fate.delay);
    return {LinkResult::Kind::arrives, link.last_arrival, false};
}

void Links::forget(LinkPool pool, Host from, Host to) {
    links_.erase(Key{from, pool, to});
}

void Links::forget_all_of(Host from) {
    links_.erase(links_.lower_bound(Key{from, LinkPool::control, 0}),
                 links_.lower_bound(Key{from + 1, LinkPool::control, 0}));
}

}  // namespace exa::sim
