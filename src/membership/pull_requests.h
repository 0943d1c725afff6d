// PullRequests: the records that we lack, and whom we ask for them over the link.
//
// Whoever mentioned a record that we cannot follow is asked for it, once each pull_timeout until it comes. The requests
// that one message gives rise to leave together, one message to each peer.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "membership/step.h"
#include "wire/gossip.h"

namespace exa::membership {

class PullRequests {
  public:
    // `from` knows more of `peer` than we do.
    void add(const Step& step, PeerId from, PeerId peer);
    // The record of `peer` came: it may be asked for again at once.
    void arrived(PeerId peer) { asked_until_.erase(peer); }
    // The requests to send now.
    std::vector<SyncOut> take();
    void clear() { waiting_.clear(); }

    std::size_t asked() const { return asked_until_.size(); }
    std::size_t waiting() const { return waiting_.size(); }

  private:
    std::map<PeerId, TimePoint> asked_until_;
    std::map<PeerId, std::vector<wire::Pull>> waiting_;  // by the peer that is asked
};

}  // namespace exa::membership
