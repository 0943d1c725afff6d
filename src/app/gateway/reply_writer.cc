#include "app/gateway/reply_writer.h"

#include <tuple>
#include <utility>
#include <variant>

namespace exa::app::gateway {

ReplyWriter::ReplyWriter(std::shared_ptr<io::link::InboundStream> stream, std::shared_ptr<replica::ReplyReader> reply,
                         ReadyQueue& ready, std::atomic<std::uint32_t>& running)
    : stream_(std::move(stream)), reply_(std::move(reply)), ready_(ready), running_(running) {
    running_.fetch_add(1);
}

ReplyWriter::~ReplyWriter() {
    reply_->on_ready({});
    stream_->on_ready({});
    stream_->on_cancel({});
    running_.fetch_sub(1);
}

void ReplyWriter::start(std::function<void(const std::shared_ptr<ReplyWriter>&)> on_end) {
    on_end_ = std::move(on_end);
    const auto wake = [this] { ready_.add(shared_from_this()); };
    reply_->on_ready(wake);
    stream_->on_ready(wake);
    stream_->on_cancel([this] {
        reply_->cancel();
        ready_.add(shared_from_this());
    });
    run();
}

void ReplyWriter::run() {
    if (!on_end_ || send_what_goes()) return;
    // What may call this object is dropped with it, which may be some iterations of the loop later.
    reply_->on_ready({});
    std::exchange(on_end_, nullptr)(shared_from_this());
}

bool ReplyWriter::send_what_goes() {
    while (!stream_->cancelled()) {
        if (!waiting_) {
            auto part = reply_->poll();
            if (!part) {
                if (std::exchange(sent_data_, false)) ready_.note_stream();
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

bool ReplyWriter::send(replica::ReplyPart part) {
    if (auto* data = std::get_if<wire::Data>(&part)) {
        sent_data_ = true;
        return stream_->push_data(std::move(*data)).has_value();
    }
    if (auto* shared = std::get_if<replica::SharedBytes>(&part))
        return stream_->push_shared(shared->bytes, std::move(shared->owner)).has_value();
    if (auto* head = std::get_if<wire::Head>(&part)) return stream_->push_head(*head).has_value();
    return stream_->push_end(std::get<wire::End>(std::move(part))).has_value();
}

}  // namespace exa::app::gateway
