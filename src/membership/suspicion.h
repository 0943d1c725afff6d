// Suspicion: how long one incarnation of a peer has to refute before this observer calls it dead.
//
// Lifeguard (Dadgar, Phillips, Currey 2017, section IV-B): the time starts at `max` and shrinks to `min` as independent
// accusers C of the K wanted confirm it:  max(min, max - (max - min) * log(C + 1) / log(K + 1)).
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "membership/config.h"

namespace exa::membership {

class Suspicion {
  public:
    struct Bounds {
        Duration min{0};
        Duration max{0};
        std::uint32_t confirmations = 0;  // K; 0: min at once
    };

    Suspicion(TimePoint now, PeerId accuser, const Bounds& bounds);

    // True when `accuser` is a new one and the deadline moved; K of them are counted, the rest ignored.
    bool confirm(PeerId accuser);

    TimePoint deadline() const;

    // Before the end the suspect and others are pinged once more (the last check); it cannot end before they had
    // `answer_time` to answer.
    void check_again(TimePoint now, Duration answer_time) { answers_until_ = now + answer_time; }
    bool checked_again() const { return answers_until_.has_value(); }
    // When the last check is due, and after that when it ends.
    TimePoint next_step(Duration answer_time) const {
        return answers_until_ ? std::max(deadline(), *answers_until_) : deadline() - answer_time;
    }

  private:
    TimePoint started_;
    Bounds bounds_;
    std::optional<TimePoint> answers_until_;
    std::vector<PeerId> accusers_;  // the first, then those who confirmed; at most 1 + K
};

// K cannot be more than the peers that are neither the suspect nor the observer.
Suspicion::Bounds suspicion_bounds(const Config& config, std::size_t peers);

}  // namespace exa::membership
