#include "app/kv/scrubber.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>

namespace exa::app::kv {

namespace {

using Clock = std::chrono::steady_clock;

// Few, so that a read in anybody's way waits for little.
constexpr std::size_t segments_at_once = 4;

// As long as that, unless the thread is to stop.
void pause(const std::stop_token& stopping, std::chrono::duration<double> time) {
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock lock(mutex);
    never.wait_for(lock, stopping, time, [] { return false; });
}

}  // namespace

KvScrubber::KvScrubber(KvService& service, const KvScrubConfig& config) : service_(service), config_(config) {
    if (config_.bytes_per_second > 0 && service_.disk() != nullptr)
        thread_ = std::jthread([this](const std::stop_token& stopping) { run(stopping); });
}

void KvScrubber::run(const std::stop_token& stopping) {
    auto round = Clock::now();
    std::optional<exa::kv::SegmentKey> next;
    while (!stopping.stop_requested()) {
        const io::store::ScrubReport report = service_.scrub(next, segments_at_once);
        next = report.next;
        pause(stopping, std::chrono::duration<double>(static_cast<double>(report.bytes) /
                                                      static_cast<double>(config_.bytes_per_second)));
        if (next) continue;
        pause(stopping, std::max<Clock::duration>(round + config_.round - Clock::now(), Clock::duration::zero()));
        round = Clock::now();
    }
}

}  // namespace exa::app::kv
