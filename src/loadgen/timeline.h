// Timeline: a run cut into windows of equal width, for plots. However long the run, there are at most `windows_max` of
// them: when they are used up, neighbours become one and the width doubles.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/time.h"
#include "loadgen/histogram.h"

namespace exa::loadgen {

// Requests by when they ended, tokens by when they came.
struct Window {
    static constexpr unsigned digits = 6;

    std::uint64_t started = 0;  // by when they were due
    std::uint64_t succeeded = 0;
    std::uint64_t failed = 0;
    std::uint64_t met = 0;     // the objective
    std::uint64_t tokens = 0;  // events with text
    Histogram ttft_us{digits};
    Histogram tbt_us{digits};
    Histogram e2e_us{digits};

    void merge(const Window& other);
};

class Timeline {
  public:
    static constexpr std::size_t windows_max = 240;

    explicit Timeline(TimePoint start, Duration width = std::chrono::milliseconds(250))
        : start_(start), width_(width) {}

    // The window of that moment; moments before the start count as the first. The reference holds until the next call.
    Window& at(TimePoint time);

    // Of a timeline with the same start, whose first width was the same.
    void merge(Timeline other);

    TimePoint start() const { return start_; }
    Duration width() const { return width_; }
    const std::vector<Window>& windows() const { return windows_; }

  private:
    void coarsen();

    TimePoint start_;
    Duration width_;
    std::vector<Window> windows_;
};

}  // namespace exa::loadgen
