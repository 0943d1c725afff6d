#include "app/resp/write_behind.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

namespace exa::app::resp {

RespWriteBehind::RespWriteBehind(const RespWriteOptions& options, const RespDeps& deps, RespValueCache& cache,
                                 RespCounters& counters)
    : options_(options), deps_(deps), cache_(cache), counters_(counters) {
    if (deps_.disk == nullptr) return;
    for (std::uint32_t i = 0; i < options_.threads; ++i)
        threads_.emplace_back([this](const std::stop_token& stopping) { run(stopping); });
}

void RespWriteBehind::add(const RespVersion& version, Done done) {
    bool waits = false;
    if (deps_.disk == nullptr) {
        offer_to_owners(version);
    } else {
        {
            const std::lock_guard lock(mutex_);
            queue_.push_back({version.keys[0], version.stamp, version.bytes});
            queued_bytes_ += version.bytes;
            waits = done && queued_bytes_ > options_.queue_bytes_max;
            if (waits) waiting_.push_back(std::move(done));
        }
        filled_.notify_one();
    }
    if (!waits && done) done({});
}

std::uint64_t RespWriteBehind::queued_bytes() const {
    const std::lock_guard lock(mutex_);
    return queued_bytes_;
}

void RespWriteBehind::stop() {
    for (std::jthread& thread : threads_) thread.request_stop();
    threads_.clear();
}

void RespWriteBehind::run(const std::stop_token& stopping) {
    std::unique_lock lock(mutex_);
    for (;;) {
        filled_.wait(lock, stopping, [this] { return !queue_.empty(); });
        if (queue_.empty()) return;
        const Write write = queue_.front();
        queue_.pop_front();
        lock.unlock();
        const auto version = cache_.version_to_store(write.key, write.stamp);
        const bool on_disk = version && store(*version);
        cache_.handle_stored(write.key, write.stamp, on_disk);
        lock.lock();
        queued_bytes_ -= write.bytes;
        const std::vector<Done> answerable = take_answerable();
        lock.unlock();
        for (const Done& done : answerable) done({});
        lock.lock();
    }
}

std::vector<RespWriteBehind::Done> RespWriteBehind::take_answerable() {
    std::vector<Done> answerable;
    while (!waiting_.empty() && (queued_bytes_ <= options_.queue_bytes_max || queue_.empty())) {
        answerable.push_back(std::move(waiting_.front()));
        waiting_.pop_front();
        // What is answered now brings new writes: not all of them at once.
        if (queued_bytes_ > options_.queue_bytes_max / 2) break;
    }
    return answerable;
}

bool RespWriteBehind::store(const RespVersion& version) {
    seal_resp(version, deps_.sealer);
    // The first part last: without it the others are nothing.
    const std::vector<exa::kv::SealedSegment> sealed(version.parts.rbegin(), version.parts.rend());
    const auto outcomes = deps_.disk->put(deps_.wall(), sealed);
    const bool on_disk = std::ranges::all_of(outcomes, [](io::store::PutOutcome outcome) {
        return outcome == io::store::PutOutcome::stored || outcome == io::store::PutOutcome::present;
    });
    // An older version must not come back in its place.
    if (!on_disk) deps_.disk->erase(std::span(&version.keys[0], 1));
    count(on_disk ? counters_.stored : counters_.refused);
    // Also what the disk refused: its owners' may take it, from memory.
    if (outcomes.back() != io::store::PutOutcome::present) offer_to_owners(version);
    return on_disk;
}

void RespWriteBehind::offer_to_owners(const RespVersion& version) {
    if (deps_.peers == nullptr) return;
    seal_resp(version, deps_.sealer);
    for (std::size_t i = version.parts.size(); i-- > 0;) {
        exa::kv::SegmentHead head;
        head.key = version.keys[i];
        head.stamp = version.stamp;
        deps_.peers->handle_stored(head, version.parts[i]);
    }
}

}  // namespace exa::app::resp
