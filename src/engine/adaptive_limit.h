// AdaptiveLimit: how many requests a replica works on at the same time.
//
// More of them make better use of the machine, and every one's next token later. Nobody can say beforehand how many a
// machine takes, since it depends on the model, the lengths of prompts and who else uses the machine. So the limit is
// moved as TCP moves its window (Chiu and Jain 1989): one more as long as all permits are taken and tokens come in
// time, a quarter less when they come late or a request had to give its memory back. Before it was late for the first
// time the limit doubles, so that a fast replica is not held back by where it starts.
//
// It is looked at once in a window of tokens, long enough that what was changed last shows in it. A time in which a
// piece of a prompt was computed counts as one in time: how long that takes is decided by the size of a step, and fewer
// requests would make it no shorter.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace exa::engine {

struct LimitConfig {
    // Bounds of the limit; the lower one counts as at most the upper. At least 1.
    std::uint32_t limit_min = 4;
    std::uint32_t limit_max = 32;
    std::uint32_t limit_start = 8;  // within the bounds, or moved there
    // What 99 of 100 times between two tokens of a request shall not exceed. So that the last few have room, nineteen
    // of twenty shall not exceed four fifths of it. 0: the limit stays at limit_max.
    Duration between_tokens = std::chrono::milliseconds(250);
};

class AdaptiveLimit {
  public:
    explicit AdaptiveLimit(const LimitConfig& config);

    std::uint32_t limit() const { return limit_; }

    // A request got a token so long after the one before. `in_flight`: permits taken now. `beside_prompt`: a piece of a
    // prompt was computed meanwhile.
    void handle_token(TimePoint now, Duration between, std::uint32_t in_flight, bool beside_prompt = false);
    // A request gave its memory back for another.
    void handle_preemption(TimePoint now);

  private:
    void end_window(TimePoint now);
    void decrease();

    LimitConfig config_;
    std::uint32_t limit_;
    bool was_late_ = false;  // ever
    // Of the window.
    TimePoint since_{};
    std::uint32_t tokens_ = 0;
    std::uint32_t late_ = 0;
    std::uint32_t in_flight_most_ = 0;
};

}  // namespace exa::engine
