// AntiEntropy: when two peers compare in full what they know, and what they send each other for it.
//
// Gossip misses a peer now and then. So each peer compares itself with a random one every sync_interval (push-pull,
// over the link), sooner after a join or a heal, and with the sender of a ping whose roster hash goes on differing.
// Two that agree find out by a summary: hashes of parts of the id space, as replicas do by Merkle trees. Where the
// parts differ, digests follow: one line for each peer; a DigestComparison then says who lacks what.
//
// Timer: sync -> pick(), then schedule().
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "membership/step.h"
#include "wire/gossip.h"

namespace exa::membership {

class AntiEntropy {
  public:
    struct RosterCheck {
        bool same = false;      // both know the same of the living
        bool sync_now = false;  // they have differed for long enough: compare now
    };
    struct Opening {
        bool want_loads = false;
        std::uint64_t keys_hash = 0;
    };

    AntiEntropy(TimePoint now, const Config& config);

    // When.
    void schedule(const Step& step);
    // Much is on its way that nobody will send again: the waits, which double up to sync_interval, begin short again.
    void reset_wait(const Step& step);
    // They have grown past that.
    bool is_wait_long(const Config& config) const { return sync_wait_ > config.probe_interval; }
    // The peer to compare with next; nothing when no other peer is live.
    static std::optional<PeerId> pick(const Step& step);
    // The roster hashes of a ping's sender and ours. When they still differ although nothing has changed here for a
    // moment, one of us missed an update. Two that go on differing (a cut in one direction) compare more and more
    // rarely, and a peer that has not joined or is leaving (not `is_member`) not at all.
    RosterCheck check_roster(const Step& step, std::uint32_t theirs, std::uint32_t ours, bool is_member);

    // What to send.
    // Opens a comparison with `with`. A newcomer knows that it differs and sends its digest at once, as do peers that
    // know no more others than a summary has parts.
    std::vector<SyncOut> open(const Step& step, PeerId with, Opening opening, bool is_newcomer);
    // Our digest of each part of the id space in which `summary` differs from ours.
    std::vector<SyncOut> answer_summary(const Step& step, const wire::Sync& summary, std::uint64_t keys_hash);
    // Of the last digest that was sent: its complete answer makes a newcomer joined. 0: none yet.
    std::uint64_t digest_seq() const { return digest_seq_; }

  private:
    Duration next_wait(const Step& step);
    void add_digests(const Step& step, PeerId with, std::pair<PeerId, PeerId> ids, Opening opening,
                     std::vector<SyncOut>& out);

    Duration sync_wait_;
    std::uint32_t last_hash_ = 0;  // of our roster when a ping last came, the same since unchanged_since_
    TimePoint unchanged_since_;
    TimePoint differs_sync_from_;
    Duration differs_wait_;
    std::uint64_t digest_seq_ = 0;
};

// Old memories do not travel, or two peers would keep them alive in each other for good.
bool is_shared(const Step& step, const Peer& peer);

}  // namespace exa::membership
