#include "app/shared/work_queue.h"

#include <utility>

namespace exa::app::shared {

WorkQueue::WorkQueue(std::uint32_t threads) {
    for (std::uint32_t i = 0; i < threads; ++i)
        threads_.emplace_back([this](const std::stop_token& stopping) { run(stopping); });
}

bool WorkQueue::post(Work work) {
    {
        const std::lock_guard lock(mutex_);
        if (stopped_) return false;
        work_.push_back(std::move(work));
    }
    posted_.notify_one();
    return true;
}

void WorkQueue::stop() {
    {
        const std::lock_guard lock(mutex_);
        stopped_ = true;
    }
    for (std::jthread& thread : threads_) thread.request_stop();
    threads_.clear();
}

void WorkQueue::run(const std::stop_token& stopping) {
    std::unique_lock lock(mutex_);
    for (;;) {
        posted_.wait(lock, stopping, [this] { return !work_.empty(); });
        if (work_.empty()) return;
        const Work work = std::move(work_.front());
        work_.pop_front();
        lock.unlock();
        work(stopping);
        lock.lock();
    }
}

}  // namespace exa::app::shared
