// WorkQueue: threads that may block, and the work posted to them.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

namespace exa::app::shared {

class WorkQueue {
  public:
    // Work that takes long asks the token whether it should end early.
    using Work = std::function<void(const std::stop_token& stopping)>;

    // Without threads nothing that is posted runs.
    explicit WorkQueue(std::uint32_t threads);
    ~WorkQueue() { stop(); }
    WorkQueue(const WorkQueue&) = delete;
    WorkQueue& operator=(const WorkQueue&) = delete;

    // Runs `work` on one of the threads, in the order of posting. False after stop(): it does not run. Thread-safe.
    bool post(Work work);
    // Runs what was posted, its token stopped, and joins the threads. Idempotent, from one thread, none of its own.
    void stop();

  private:
    void run(const std::stop_token& stopping);

    std::mutex mutex_;
    std::condition_variable_any posted_;
    std::deque<Work> work_;
    bool stopped_ = false;
    std::vector<std::jthread> threads_;
};

}  // namespace exa::app::shared
