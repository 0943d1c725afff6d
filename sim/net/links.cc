#include "sim/net/links.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace exa::sim {

namespace {

TrafficClass class_of(LinkPool pool) {
    switch (pool) {
        case LinkPool::control:
            return TrafficClass::control;
        case LinkPool::data:
            return TrafficClass::data;
        case LinkPool::bulk:
            break;
    }
    return TrafficClass::bulk;
}

}  // namespace

LinkResult Links::send(WorldTime now, LinkPool pool, const LinkEnds& ends, std::size_t bytes) {
    const NetConfig& config = network_.config();
    if (links_.size() <= ends.from) links_.resize(ends.from + std::size_t{1});
    auto& links = links_[ends.from];
    const Key key{ends.to, pool};
    Link* link = links.find(key);
    const Network::LinkFate fate = network_.send_link(now, ends.from, ends.to, bytes, class_of(pool));
    if (link == nullptr || now - link->used > config.link_idle) {
        const bool answers = ends.to_boot != 0 && fate.passes && network_.reaches(ends.to, ends.from, false);
        if (!answers || fate.delay > config.connect_timeout) {
            links.erase(key);
            return {LinkResult::Kind::fails, now + config.connect_timeout, true};
        }
        // Connection and hellos before the first byte of ours: two round trips.
        const WorldTime arrival = now + 5 * fate.delay;
        links.put(key, {ends.to_boot, ends.to_generation, arrival, now});
        return {LinkResult::Kind::arrives, arrival, true};
    }
    link->used = now;
    if (ends.to_boot != link->to_boot && ends.to_boot != 0 && fate.passes &&
        network_.reaches(ends.to, ends.from, false)) {
        // A new process knows nothing of this connection and resets it.
        const Generation former = link->to_generation;
        links.erase(key);
        return {LinkResult::Kind::fails, now + 2 * fate.delay, false, former};
    }
    if (ends.to_boot != link->to_boot) return vanish(*link, now);
    if (!fate.passes) {
        // TCP keeps trying at doubling intervals, so the bytes come some time after the way is open again.
        if (fate.until == world_never || fate.until - now > config.link_idle) return vanish(*link, now);
        link->last_arrival = std::max(link->last_arrival, fate.until + (fate.until - now) / 2 + fate.delay);
        return {LinkResult::Kind::arrives, link->last_arrival, false};
    }
    link->last_arrival = std::max(link->last_arrival, now + fate.delay);
    return {LinkResult::Kind::arrives, link->last_arrival, false};
}

LinkResult Links::vanish(Link& link, WorldTime now) const {
    LinkResult result{.kind = LinkResult::Kind::vanishes, .at = world_never, .generation = link.to_generation};
    if (!std::exchange(link.is_silent, true)) result.breaks = now + network_.config().silence;
    return result;
}

bool Links::answers(LinkPool pool, const LinkEnds& ends) {
    if (links_.size() <= ends.from) return false;
    Link* link = links_[ends.from].find({ends.to, pool});
    const bool there = link != nullptr && link->to_boot == ends.to_boot &&
                       network_.reaches(ends.from, ends.to, false) && network_.reaches(ends.to, ends.from, false);
    if (there) link->is_silent = false;
    return there;
}

void Links::forget(LinkPool pool, Host from, Host to) {
    if (from < links_.size()) links_[from].erase({to, pool});
}

void Links::forget_all_of(Host from) {
    if (from < links_.size()) links_[from].clear();
}

std::size_t Links::open() const {
    return std::accumulate(links_.begin(), links_.end(), std::size_t{0},
                           [](std::size_t sum, const auto& links) { return sum + links.size(); });
}

}  // namespace exa::sim
