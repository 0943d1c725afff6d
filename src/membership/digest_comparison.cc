#include "membership/digest_comparison.h"

#include <utility>

#include "membership/anti_entropy.h"

namespace exa::membership {

DigestComparison::DigestComparison(const Roster& roster, const wire::Sync& digest)
    : digest_(digest), ours_(roster.position(digest.first)) {}

// A peer that is forgotten between two calls moves the rest of the roster by one: at worst one that we know is pulled
// again.
std::optional<wire::Fact> DigestComparison::next(const Step& step) {
    const Roster& roster = step.roster;
    const auto own_id = [&] { return roster.peer(ours_).record->id; };
    while (theirs_ < digest_.digest.size()) {
        const wire::DigestEntry& entry = digest_.digest[theirs_++];
        for (; ours_ < roster.size() && own_id() < entry.peer; ++ours_) only_ours(step, roster.peer(ours_));
        if (ours_ == roster.size() || own_id() != entry.peer) {
            only_theirs(step, entry);
            continue;
        }
        if (auto fact = compare(step, entry, roster.digest(roster.peer(ours_++)))) return fact;
    }
    for (; ours_ < roster.size() && own_id() <= digest_.last; ++ours_) only_ours(step, roster.peer(ours_));
    return std::nullopt;
}

void DigestComparison::only_theirs(const Step& step, const wire::DigestEntry& entry) {
    if (entry.peer != step.roster.self() && pulls_.size() < wire::digest_entries_max)
        pulls_.push_back({entry.peer, Generation{}, 0});
}

void DigestComparison::only_ours(const Step& step, const Peer& peer) {
    if (is_shared(step, peer) && peer.record->id != digest_.header.sender)
        lacking_.push_back({peer.record->id, Generation{}, 0});
}

std::optional<wire::Fact> DigestComparison::compare(const Step& step, const wire::DigestEntry& entry,
                                                    const wire::DigestEntry& own) {
    if (entry == own && entry.state == wire::MemberState::alive) return std::nullopt;
    if (entry.generation > own.generation) {
        only_theirs(step, entry);
        return std::nullopt;
    }
    if (entry.generation < own.generation) {
        lacking_.push_back({entry.peer, Generation{}, 0});
        return std::nullopt;
    }
    if (entry.version > own.version && entry.peer != step.roster.self() && pulls_.size() < wire::digest_entries_max)
        pulls_.push_back({entry.peer, own.generation, own.version});
    const bool is_behind = std::pair(entry.incarnation, entry.state) < std::pair(own.incarnation, own.state);
    if (entry.version < own.version || is_behind) lacking_.push_back({entry.peer, entry.generation, entry.version});
    // A digest does not say whose suspicion it is.
    return wire::Fact{entry.peer, entry.generation, entry.incarnation, entry.state, PeerId{}};
}

}  // namespace exa::membership
