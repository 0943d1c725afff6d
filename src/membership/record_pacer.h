// RecordPacer: when others are told of a new version of our own record.
//
// A peer that starts changes its record with every step of every replica. So versions are told record_interval apart,
// growing to record_interval_max while the record goes on changing; but at once when something that others may use is
// gone or moved, and when the last replica got ready.
//
// Timer: record -> Membership announces the record.
#pragma once

#include "base/time.h"
#include "membership/config.h"
#include "wire/records.h"

namespace exa::membership {

class RecordPacer {
  public:
    RecordPacer(TimePoint now, const Config& config);

    // True when the change from `before` to `after` should be told now; else when due() comes.
    bool is_urgent(TimePoint now, const wire::PeerRecord& before, const wire::PeerRecord& after) const;
    TimePoint due() const { return told_ + wait_; }
    // The newest version is told.
    void note_told(TimePoint now, const Config& config);

  private:
    TimePoint told_;
    Duration wait_;
};

}  // namespace exa::membership
