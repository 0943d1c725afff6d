#include "app/shared/mailbox.h"

#include <boost/asio/post.hpp>
#include <utility>

namespace exa::app::shared {

void Mailbox::send(Message message, bool at_once) {
    {
        const std::lock_guard lock(mutex_);
        messages_.push_back(std::move(message));
        if (due_ || (paced_ && !at_once)) return;
        due_ = true;
    }
    boost::asio::post(timer_.get_executor(), [self = shared_from_this()] { self->deliver(false); });
}

void Mailbox::deliver(bool by_timer) {
    const auto now = Clock::now();
    if (!by_timer) crowded_ = now - last_ < pace ? crowded_ + 1 : 0;
    last_ = now;
    bool wait = false;
    {
        const std::lock_guard lock(mutex_);
        delivered_.swap(messages_);
        if (!by_timer) {
            due_ = false;
            wait = !paced_ && crowded_ >= crowded_after;
            paced_ = paced_ || wait;
        } else if (delivered_.empty()) {
            paced_ = false;
            crowded_ = 0;
        } else {
            wait = true;
        }
    }
    if (wait) wait_for_more();
    for (Message& message : delivered_)
        if (const auto to = message.to.lock()) to->take(message.index, std::move(message.events));
    delivered_.clear();
}

void Mailbox::wait_for_more() {
    timer_.expires_after(pace);
    timer_.async_wait([self = shared_from_this()](const boost::system::error_code& code) {
        if (!code) self->deliver(true);
    });
}

}  // namespace exa::app::shared
