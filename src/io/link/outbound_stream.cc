#include "io/link/outbound_stream.h"

#include <utility>

#include "io/link/connection.h"
#include "io/steady_time.h"

namespace exa::io::link {

OutboundStream::OutboundStream(std::shared_ptr<LinkConnection> link, std::shared_ptr<OutboundState> state)
    : link_(std::move(link)), state_(std::move(state)) {}

OutboundStream::~OutboundStream() {
    state_->on_ready = nullptr;
    cancel();
}

PeerId OutboundStream::peer() const {
    return link_->peer();
}

void OutboundStream::set_background_priority() {
    link_->set_background_priority();
}

std::optional<Result<StreamFrame>> OutboundStream::poll() {
    auto frame = link_->machine().poll(*state_);
    link_->update();
    return frame;
}

void OutboundStream::on_ready(std::function<void()> handler) {
    state_->on_ready = std::move(handler);
}

void OutboundStream::read_into(std::shared_ptr<DataSink> sink) {
    state_->sink = std::move(sink);
}

void OutboundStream::cancel() {
    link_->machine().cancel(steady_now(), state_);
    link_->update();
}

}  // namespace exa::io::link
