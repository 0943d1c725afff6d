#include "app/door/delivery.h"

#include <tuple>
#include <utility>
#include <variant>

namespace exa::app {

Delivery::Delivery(std::shared_ptr<io::LinkStream> stream, std::shared_ptr<ReplyReader> reply, Turn& turn,
                   std::atomic<std::uint32_t>& running)
    : stream_(std::move(stream)), reply_(std::move(reply)), turn_(turn), running_(running) {
    running_.fetch_add(1);
}

Delivery::~Delivery() {
    reply_->on_ready({});
    stream_->on_ready({});
    stream_->on_cancel({});
    running_.fetch_sub(1);
}

void Delivery::start(std::function<void(const std::shared_ptr<Delivery>&)> on_end) {
    on_end_ = std::move(on_end);
    const auto wake = [this] { turn_.add(shared_from_this()); };
    reply_->on_ready(wake);
    stream_->on_ready(wake);
    stream_->on_cancel([this] {
        reply_->cancel();
        turn_.add(shared_from_this());
    });
    run();
}

void Delivery::run() {
    if (!on_end_ || send_what_goes()) return;
    // What may call this object is dropped with it, which may be some turns later.
    reply_->on_ready({});
    std::exchange(on_end_, nullptr)(shared_from_this());
}

bool Delivery::send_what_goes() {
    while (!stream_->cancelled()) {
        if (!waiting_) {
            auto part = reply_->poll();
            if (!part) {
                if (std::exchange(sent_data_, false)) turn_.note_stream();
                return true;
            }
            if (!*part) {
                std::ignore = stream_->push_end({wire::EndCode::failed, part->error().message()});
                return false;
            }
            waiting_ = std::move(part->value());
        }
        const bool is_end = std::holds_alternative<wire::End>(*waiting_);
        const bool is_head = std::holds_alternative<wire::Head>(*waiting_);
        if (!is_end && !stream_->has_room(!is_head)) return true;
        if (!send(*std::exchange(waiting_, std::nullopt)) || is_end) return false;
    }
    reply_->cancel();
    return false;
}

bool Delivery::send(ReplyPart part) {
    if (auto* data = std::get_if<wire::Data>(&part)) {
        sent_data_ = true;
        return stream_->push_data(std::move(*data)).has_value();
    }
    if (auto* shared = std::get_if<SharedBytes>(&part))
        return stream_->push_shared(shared->bytes, std::move(shared->owner)).has_value();
    if (auto* head = std::get_if<wire::Head>(&part)) return stream_->push_head(*head).has_value();
    return stream_->push_end(std::get<wire::End>(std::move(part))).has_value();
}

}  // namespace exa::app
