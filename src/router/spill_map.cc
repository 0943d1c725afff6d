#include "router/spill_map.h"

#include "base/check.h"

namespace exa::router {

SpillMap::SpillMap(std::size_t capacity, Duration life) : capacity_(capacity), life_(life), nodes_(1) {
    EXA_CHECK(capacity > 0);
}

std::optional<Spill> SpillMap::peek(TimePoint now, std::uint64_t session) const {
    const auto found = index_.find(session);
    if (found == index_.end() || now - nodes_[found->second].used > life_) return std::nullopt;
    return nodes_[found->second].spill;
}

std::optional<Spill> SpillMap::find(TimePoint now, std::uint64_t session) {
    const auto found = index_.find(session);
    if (found == index_.end()) return std::nullopt;
    const std::uint32_t at = found->second;
    if (now - nodes_[at].used > life_) {
        erase(at);
        return std::nullopt;
    }
    nodes_[at].used = now;
    unlink(at);
    link_newest(at);
    return nodes_[at].spill;
}

void SpillMap::remember(TimePoint now, std::uint64_t session, const Spill& spill) {
    const auto found = index_.find(session);
    std::uint32_t at;
    if (found != index_.end()) {
        at = found->second;
        unlink(at);
    } else {
        if (index_.size() >= capacity_) erase(nodes_[0].previous);
        if (free_.empty()) {
            at = static_cast<std::uint32_t>(nodes_.size());
            nodes_.emplace_back();
        } else {
            at = free_.back();
            free_.pop_back();
        }
        index_.emplace(session, at);
    }
    nodes_[at].session = session;
    nodes_[at].spill = spill;
    nodes_[at].used = now;
    link_newest(at);
}

void SpillMap::forget(std::uint64_t session) {
    const auto found = index_.find(session);
    if (found != index_.end()) erase(found->second);
}

void SpillMap::unlink(std::uint32_t at) {
    nodes_[nodes_[at].previous].next = nodes_[at].next;
    nodes_[nodes_[at].next].previous = nodes_[at].previous;
}

void SpillMap::link_newest(std::uint32_t at) {
    nodes_[at].previous = 0;
    nodes_[at].next = nodes_[0].next;
    nodes_[nodes_[0].next].previous = at;
    nodes_[0].next = at;
}

void SpillMap::erase(std::uint32_t at) {
    unlink(at);
    index_.erase(nodes_[at].session);
    free_.push_back(at);
}

}  // namespace exa::router
