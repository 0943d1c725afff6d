#include "app/kv/write_behind.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "io/random.h"

namespace exa::app::kv {

namespace {

// What the disk is asked to write at once.
constexpr std::size_t batch_max = 8;
constexpr std::chrono::seconds maintain_interval{1};

}  // namespace

KvWriteBehind::KvWriteBehind(std::uint64_t queue_bytes_max, const exa::kv::SegmentSealer& sealer, KvMemory& memory,
                             io::store::SegmentStore* disk, WallClock wall, KvCounters& counters)
    : queue_bytes_max_(queue_bytes_max),
      sealer_(sealer),
      memory_(memory),
      disk_(disk),
      wall_(std::move(wall)),
      counters_(counters),
      writer_([this](const std::stop_token& stopping) { run(stopping); }) {}

bool KvWriteBehind::has_room(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    if (usage_.bytes + bytes <= queue_bytes_max_) return true;
    ++counters_.dropped;
    return false;
}

void KvWriteBehind::offer(const exa::kv::SegmentHead& head, std::shared_ptr<exa::kv::SegmentBuffer> buffer) {
    {
        const std::lock_guard lock(mutex_);
        if (closed_ || !queued_.insert(head.key).second) return;
        ++counters_.finished;
        ++usage_.segments;
        usage_.bytes += buffer->size();
        queue_.push_back({head, std::move(buffer), nullptr});
    }
    filled_.notify_one();
}

void KvWriteBehind::keep(const exa::kv::SegmentHead& head, const exa::kv::SealedSegment& segment) {
    {
        const std::lock_guard lock(mutex_);
        const bool has_room = usage_.bytes + segment->size() <= queue_bytes_max_;
        if (closed_ || disk_ == nullptr || !has_room || !queued_.insert(head.key).second) return;
        ++usage_.segments;
        usage_.bytes += segment->size();
        queue_.push_back({head, nullptr, segment});
    }
    filled_.notify_one();
}

bool KvWriteBehind::is_queued(const exa::kv::SegmentKey& key) const {
    const std::lock_guard lock(mutex_);
    return queued_.contains(key);
}

bool KvWriteBehind::bring_forward(const exa::kv::SegmentKey& key, const std::stop_token& stopping) {
    std::optional<Finished> finished;
    {
        std::unique_lock lock(mutex_);
        if (!queued_.contains(key)) return true;
        const auto at = std::ranges::find(queue_, key, [](const Finished& one) { return one.head.key; });
        // The writer, or another reader, is at it.
        if (at == queue_.end()) return sealed_.wait(lock, stopping, [&] { return !queued_.contains(key); });
        finished = std::move(*at);
        queue_.erase(at);
    }
    seal(*finished);
    {
        const std::lock_guard lock(mutex_);
        queue_.push_front(std::move(*finished));
    }
    filled_.notify_one();
    return true;
}

KvWriteBehind::Usage KvWriteBehind::usage() const {
    const std::lock_guard lock(mutex_);
    return usage_;
}

void KvWriteBehind::close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
}

bool KvWriteBehind::is_closed() const {
    const std::lock_guard lock(mutex_);
    return closed_;
}

void KvWriteBehind::stop() {
    close();
    writer_.request_stop();
    if (writer_.joinable()) writer_.join();
}

void KvWriteBehind::run(const std::stop_token& stopping) {
    const auto filled = [this] { return !queue_.empty(); };
    auto maintained = std::chrono::steady_clock::now();
    while (true) {
        std::vector<Finished> batch;
        {
            std::unique_lock lock(mutex_);
            if (disk_ != nullptr)
                filled_.wait_for(lock, stopping, maintain_interval, filled);
            else
                filled_.wait(lock, stopping, filled);
            if (queue_.empty() && stopping.stop_requested()) return;
            for (; !queue_.empty() && batch.size() < batch_max; queue_.pop_front())
                batch.push_back(std::move(queue_.front()));
        }
        if (!batch.empty()) store(std::move(batch));
        if (disk_ == nullptr || std::chrono::steady_clock::now() - maintained < maintain_interval) continue;
        disk_->maintain(wall_());
        maintained = std::chrono::steady_clock::now();
    }
}

// From then on it is in memory.
void KvWriteBehind::seal(Finished& finished) {
    if (!finished.sealed) {
        finished.head.nonce = io::random_nonce();
        sealer_.seal(finished.head, *finished.buffer);
        finished.sealed = finished.buffer;
    }
    // Before it leaves queued_: a reader that does not find it there finds it in memory.
    memory_.put(finished.head.key, finished.sealed);
    {
        const std::lock_guard lock(mutex_);
        queued_.erase(finished.head.key);
    }
    sealed_.notify_all();
}

void KvWriteBehind::store(std::vector<Finished> batch) {
    std::uint64_t bytes = 0;
    std::vector<exa::kv::SealedSegment> sealed;
    for (Finished& finished : batch) {
        seal(finished);
        bytes += finished.sealed->size();
        sealed.push_back(finished.sealed);
    }
    if (disk_ != nullptr) {
        const auto outcomes = disk_->put(wall_(), sealed);
        for (std::size_t i = 0; i < batch.size(); ++i) {
            const bool kept =
                outcomes[i] == io::store::PutOutcome::stored || outcomes[i] == io::store::PutOutcome::present;
            if (!kept) ++counters_.refused;
            if (kept && peers_ != nullptr && batch[i].buffer) peers_->handle_stored(batch[i].head, sealed[i]);
        }
    }
    const std::lock_guard lock(mutex_);
    usage_.segments -= batch.size();
    usage_.bytes -= bytes;
}

}  // namespace exa::app::kv
