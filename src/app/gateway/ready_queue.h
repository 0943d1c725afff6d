// ReadyQueue: what became ready in this iteration of a data-plane thread's event loop. Each is run once at its end, so
// that all that one read of a link brought for an answer is taken in one go, and none runs in the middle of another.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace exa::app::gateway {

class Runnable {
  public:
    virtual void run() = 0;

  protected:
    ~Runnable() = default;

  private:
    friend class ReadyQueue;
    bool queued_ = false;
};

// Belongs to one thread, whose loop calls run() at the end of each iteration.
class ReadyQueue {
  public:
    ReadyQueue() = default;
    ReadyQueue(const ReadyQueue&) = delete;
    ReadyQueue& operator=(const ReadyQueue&) = delete;

    // Adding it again before it has run changes nothing.
    void add(std::shared_ptr<Runnable> ready) {
        if (!std::exchange(ready->queued_, true)) ready_.push_back(std::move(ready));
    }
    bool empty() const { return ready_.empty(); }
    // What this adds runs in the next iteration.
    void run() {
        running_.swap(ready_);
        for (std::size_t i = 0; i < running_.size(); ++i) {
            // Hundreds of them do not stay in the cache between two iterations.
            if (i + 1 < running_.size()) __builtin_prefetch(running_[i + 1].get());
            running_[i]->queued_ = false;
            running_[i]->run();
        }
        running_.clear();
    }

    // Something of a stream of this peer's replicas was passed on, and more of it is to come.
    void note_stream() { streams_ = true; }
    // Whether that was so since this was last asked.
    bool take_streams() { return std::exchange(streams_, false); }

  private:
    std::vector<std::shared_ptr<Runnable>> ready_;
    std::vector<std::shared_ptr<Runnable>> running_;
    bool streams_ = false;
};

}  // namespace exa::app::gateway
