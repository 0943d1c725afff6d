// DigestComparison: another peer's digest against our roster, one line after the other.
//
// Both lists are sorted by id. What only one side knows, or knows in a newer version, the other pulls or is given.
// Where the two differ about the liveness of a peer, next() yields the other side's opinion: the caller merges it
// before it asks for the next one.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "membership/step.h"
#include "wire/gossip.h"

namespace exa::membership {

class DigestComparison {
  public:
    // `digest` outlives this object.
    DigestComparison(const Roster& roster, const wire::Sync& digest);

    // Another fact to merge; nothing at the end, when lacking() and take_pulls() are complete.
    std::optional<wire::Fact> next(const Step& step);

    // What the other side lacks, with the versions that it has.
    const std::vector<wire::Pull>& lacking() const { return lacking_; }
    // What we lack, to be pulled.
    std::vector<wire::Pull> take_pulls() { return std::move(pulls_); }

  private:
    void only_theirs(const Step& step, const wire::DigestEntry& entry);
    void only_ours(const Step& step, const Peer& peer);
    std::optional<wire::Fact> compare(const Step& step, const wire::DigestEntry& entry, const wire::DigestEntry& own);

    const wire::Sync& digest_;
    std::size_t theirs_ = 0;  // the next entry of digest_
    std::size_t ours_;        // the next peer of the roster
    std::vector<wire::Pull> lacking_;
    std::vector<wire::Pull> pulls_;
};

}  // namespace exa::membership
