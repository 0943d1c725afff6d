// Fifo: a queue that keeps its memory.
//
// For queues that fill and drain all the time. A std::deque of large elements asks for a block every few of them, and
// one that is empty holds one all the same.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace exa {

template <class T>
class Fifo {
  public:
    bool empty() const { return taken_ == items_.size(); }
    std::size_t size() const { return items_.size() - taken_; }

    void push(T item) { items_.push_back(std::move(item)); }
    // Of a queue that is not empty. What it refers to stays there until the next call that changes the queue.
    T& front() { return items_[taken_]; }
    // Of a queue that is not empty.
    T pop() {
        T item = std::move(items_[taken_++]);
        if (taken_ == items_.size())
            clear();
        else if (taken_ >= compact_min && 2 * taken_ >= items_.size())
            compact();
        return item;
    }
    void clear() {
        items_.clear();
        taken_ = 0;
    }

  private:
    // Fewer that were taken are not worth moving the others.
    static constexpr std::size_t compact_min = 16;

    void compact() {
        items_.erase(items_.begin(), items_.begin() + static_cast<std::ptrdiff_t>(taken_));
        taken_ = 0;
    }

    std::vector<T> items_;
    std::size_t taken_ = 0;  // of them, from the front
};

}  // namespace exa
