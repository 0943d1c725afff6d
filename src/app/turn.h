// Turn: what became ready in this turn of a data-plane thread's loop. Each is run once at the end of it, so that all
// that one read of a link brought for an answer is taken in one go, and nobody runs in the middle of another.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/post.hpp>
#include <memory>
#include <utility>
#include <vector>

namespace exa::app {

class Runnable {
  public:
    virtual void run() = 0;

  protected:
    ~Runnable() = default;

  private:
    friend class Turn;
    bool queued_ = false;
};

// Belongs to one thread; outlives everything that its executor still runs.
class Turn {
  public:
    explicit Turn(boost::asio::any_io_executor executor) : executor_(std::move(executor)) {}
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    // Adding it again before it has run changes nothing.
    void add(std::shared_ptr<Runnable> ready) {
        if (std::exchange(ready->queued_, true)) return;
        ready_.push_back(std::move(ready));
        if (ready_.size() == 1) boost::asio::post(executor_, [this] { run(); });
    }

  private:
    void run() {
        running_.swap(ready_);
        for (const auto& one : running_) {
            one->queued_ = false;
            one->run();
        }
        running_.clear();
    }

    boost::asio::any_io_executor executor_;
    std::vector<std::shared_ptr<Runnable>> ready_;
    std::vector<std::shared_ptr<Runnable>> running_;
};

}  // namespace exa::app
