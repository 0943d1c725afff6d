// Mailbox: what engines' threads have for the generations of one data-plane thread.
//
// To wake a thread that sleeps costs more than to render a token. So all that is there when the thread looks is one
// delivery; and while deliveries follow one another closely, tokens from the middle of answers wait for up to `pace`,
// so that hundreds of streams cost a few wake-ups a millisecond and not one a token. First tokens and finishes are
// never kept, and a stream that is alone meets an idle mailbox.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/replica.h"

namespace exa::app::shared {

// Who gets messages; called by the mailbox's executor.
class Recipient {
  public:
    virtual void take(std::size_t index, std::vector<engine::TokenEvent> events) = 0;

  protected:
    ~Recipient() = default;
};

// Not yet taken when its recipient goes away: dropped.
struct Message {
    std::weak_ptr<Recipient> to;
    std::size_t index = 0;
    std::vector<engine::TokenEvent> events;
};

class Mailbox : public std::enable_shared_from_this<Mailbox> {
  public:
    static constexpr auto pace = std::chrono::microseconds(500);
    // Deliveries that followed the one before within `pace`, one after another, before messages are made to wait.
    static constexpr unsigned crowded_after = 8;

    explicit Mailbox(const boost::asio::any_io_executor& executor) : timer_(executor) {}
    Mailbox(const Mailbox&) = delete;
    Mailbox& operator=(const Mailbox&) = delete;

    boost::asio::any_io_executor executor() { return timer_.get_executor(); }

    // Thread-safe. Letters are delivered in the order they were sent, never from in here.
    void send(Message message, bool at_once);

  private:
    using Clock = std::chrono::steady_clock;

    void deliver(bool by_timer);
    void wait_for_more();

    std::mutex mutex_;
    std::vector<Message> messages_;
    bool due_ = false;    // a delivery has been posted
    bool paced_ = false;  // the timer will make one

    // Of the executor.
    std::vector<Message> delivered_;
    boost::asio::steady_timer timer_;
    Clock::time_point last_{};
    unsigned crowded_ = 0;
};

}  // namespace exa::app::shared
