// PublishSchedule: when a peer publishes a new view of the cluster for its data plane.
// A suspicion, a death and what an operator's command changed are published at the end of the iteration of the event
// loop in which it came: once for all that arrives there, as a view costs O(peers + replicas). Other changes (a peer
// joined, a replica is ready, loads) are published 20 ms after the last view at the earliest, and while nobody reads
// the views once a second: in a boot of 256 peers some of it comes with every packet.
#pragma once

#include <optional>

#include "base/time.h"
#include "membership/event.h"

namespace exa::node {

// Routing must know of it at once, or an operator waits for it.
bool is_urgent(membership::EventKind kind);

class PublishSchedule {
  public:
    // Something may have changed. Returns when to publish, `now` for the end of this iteration; nothing: that is
    // planned already.
    std::optional<TimePoint> handle_change(TimePoint now, bool urgent, bool view_was_read);
    // A view was published, or found to be the same as the last.
    void handle_published(TimePoint now);

  private:
    std::optional<TimePoint> planned_;
    TimePoint published_at_{};
};

}  // namespace exa::node
