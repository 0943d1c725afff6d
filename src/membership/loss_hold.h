// LossHold: keeps the dead from becoming lost when so many are dead at once that it looks like a partition.
//
// What a lost peer held is created again elsewhere. A partition looks like the loss of the other side from both sides,
// and then everything would be created twice. So while more than a third of all peers are dead, none becomes lost,
// until the cluster heals or an operator says that it is no partition.
#pragma once

#include "membership/roster.h"

namespace exa::membership {

class LossHold {
  public:
    // Counts the dead again. True while none of them may become lost; one that was replaced always may.
    bool update(const Roster& roster);
    bool is_held() const { return held_; }
    // The dead that are held become lost in their time, however many they are.
    void confirm() { confirmed_ = held_; }

    // Another peer has its name: it was started again without its data, and does not come back.
    static bool has_live_namesake(const Roster& roster, PeerId dead) { return roster.namesake(dead).has_value(); }

  private:
    bool held_ = false;
    bool confirmed_ = false;
};

}  // namespace exa::membership
