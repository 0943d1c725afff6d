#include "loadgen/timeline.h"

#include <algorithm>
#include <utility>

namespace exa::loadgen {

void Window::merge(const Window& other) {
    started += other.started;
    succeeded += other.succeeded;
    failed += other.failed;
    met += other.met;
    tokens += other.tokens;
    ttft_us.merge(other.ttft_us);
    tbt_us.merge(other.tbt_us);
    e2e_us.merge(other.e2e_us);
}

Window& Timeline::at(TimePoint time) {
    const Duration since = std::max(time - start_, Duration::zero());
    while (since / width_ >= static_cast<Duration::rep>(windows_max)) coarsen();
    const auto index = static_cast<std::size_t>(since / width_);
    if (index >= windows_.size()) windows_.resize(index + 1);
    return windows_[index];
}

void Timeline::coarsen() {
    for (std::size_t i = 0; i < windows_.size(); ++i) {
        if (i % 2 == 1)
            windows_[i / 2].merge(windows_[i]);
        else if (i > 0)
            windows_[i / 2] = std::move(windows_[i]);
    }
    windows_.resize((windows_.size() + 1) / 2);
    width_ *= 2;
}

void Timeline::merge(Timeline other) {
    while (width_ < other.width_) coarsen();
    while (other.width_ < width_) other.coarsen();
    if (windows_.size() < other.windows_.size()) windows_.resize(other.windows_.size());
    for (std::size_t i = 0; i < other.windows_.size(); ++i) windows_[i].merge(other.windows_[i]);
}

}  // namespace exa::loadgen
