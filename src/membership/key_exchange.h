// KeyExchange: how the key ring of an encrypted cluster spreads.
//
// A change is pushed over links to a few random peers, who push it on. Comparisons repair what that missed: digests and
// summaries carry the ring's hash, and two rings that differ are merged on both sides.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/crypto.h"
#include "base/ids.h"
#include "membership/key_ring.h"
#include "membership/step.h"
#include "wire/gossip.h"

namespace exa::membership {

class KeyExchange {
  public:
    // The ring that this instance starts with. `crypto` outlives this object. Without start() the cluster is plaintext.
    void start(const Crypto& crypto, KeyRing ring);
    const KeyRing& ring() const { return ring_; }
    // Of the ring, as digests and summaries carry it; 0: plaintext.
    std::uint64_t hash() const { return ring_.hash(); }

    // The ring after an operator's change.
    Effects set(const Step& step, KeyRing ring);
    // Another peer's digest or summary: when its ring differs, we send ours and ask for the other.
    std::vector<SyncOut> compare(const wire::Sync& digest) const;
    // Another peer's ring. Nothing when this cluster is plaintext: the message was refused.
    std::optional<Effects> merge(const Step& step, const wire::Sync& keys);

  private:
    SyncOut message(PeerId to, bool want_theirs) const;
    // To some of the others, except one.
    Effects push(const Step& step, PeerId except) const;

    const Crypto* crypto_ = nullptr;  // null: the cluster is plaintext
    KeyRing ring_;
};

}  // namespace exa::membership
