#include "sim/checks/placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace exa::sim {

namespace {

bool holds(std::span<const ring::RingMember> members, const ring::RingMember& member) {
    const auto at = std::ranges::lower_bound(members, member.id, {}, &ring::RingMember::id);
    return at != members.end() && *at == member;
}

std::set<std::uint64_t> ids_of(std::span<const std::uint32_t> owners,
                               std::span<const ring::RendezvousCandidate> candidates) {
    std::set<std::uint64_t> ids;
    for (const std::uint32_t owner : owners) ids.insert(candidates[owner].id);
    return ids;
}

std::size_t racks_of(std::span<const std::uint32_t> owners, std::span<const ring::RendezvousCandidate> candidates) {
    std::set<std::uint64_t> racks;
    for (const std::uint32_t owner : owners) racks.insert(candidates[owner].rack);
    return racks.size();
}

}  // namespace

RingSide side_of(const ring::Ring& ring) {
    return {ring.members(), [&ring](std::uint64_t position) { return ring.owner(position); }};
}

std::optional<std::string> needless_move(const RingSide& before, const RingSide& after, Rng& rng, std::size_t samples) {
    if (before.members.empty() || after.members.empty()) return std::nullopt;
    for (std::size_t i = 0; i < samples; ++i) {
        const std::uint64_t position = rng.next();
        const ring::RingMember& was = before.members[before.owner(position)];
        const ring::RingMember& is = after.members[after.owner(position)];
        if (was == is || !holds(after.members, was) || !holds(before.members, is)) continue;
        return fmt::format(
            "position {:016x} went from replica {} of peer {:016x} to replica {} of peer {:016x}, both of "
            "which were there before and after",
            position, was.id.slot, was.id.peer.value, is.id.slot, is.id.peer.value);
    }
    return std::nullopt;
}

std::optional<std::string> misplaced_copies(std::span<const ring::RendezvousCandidate> candidates, std::size_t copies,
                                            const ChooseOwners& choose, Rng& rng, std::size_t samples) {
    std::set<std::uint64_t> racks;
    for (const ring::RendezvousCandidate& candidate : candidates) racks.insert(candidate.rack);
    std::vector<ring::RendezvousCandidate> reversed(candidates.rbegin(), candidates.rend());
    const std::size_t wanted = std::min(copies, candidates.size());
    const std::size_t wanted_racks = std::min(copies, racks.size());
    for (std::size_t i = 0; i < samples; ++i) {
        const std::uint64_t key = rng.next();
        const auto owners = choose(key, candidates, copies);
        const auto ids = ids_of(owners, candidates);
        if (ids.size() != wanted || owners.size() != wanted)
            return fmt::format("key {:016x} has {} owners, {} of them different, where {} are wanted", key,
                               owners.size(), ids.size(), wanted);
        if (const std::size_t on = racks_of(owners, candidates); on != wanted_racks)
            return fmt::format("the copies of key {:016x} are on {} racks, where {} could be had", key, on,
                               wanted_racks);
        if (ids_of(choose(key, reversed, copies), reversed) != ids)
            return fmt::format("the owners of key {:016x} depend on the order of candidates", key);
        std::vector<ring::RendezvousCandidate> fewer(candidates.begin(), candidates.end());
        const auto gone = std::ranges::find_if(fewer, [&](const auto& one) { return !ids.contains(one.id); });
        if (gone == fewer.end()) continue;
        const std::uint64_t rack = gone->rack;
        fewer.erase(gone);
        if (ids_of(choose(key, fewer, copies), fewer) != ids)
            return fmt::format("the owners of key {:016x} changed because another peer, of rack {:016x}, went", key,
                               rack);
    }
    return std::nullopt;
}

}  // namespace exa::sim
