#include "io/link/inbound_stream.h"

#include <boost/asio/post.hpp>
#include <tuple>
#include <utility>

#include "io/link/connection.h"
#include "io/steady_time.h"

namespace exa::io::link {

InboundStream::InboundStream(std::shared_ptr<LinkConnection> link, std::shared_ptr<InboundState> state)
    : link_(std::move(link)), state_(std::move(state)) {}

InboundStream::~InboundStream() {
    state_->on_ready = nullptr;
    state_->on_cancel = nullptr;
    if (!state_->is_over()) std::ignore = push_end({wire::EndCode::failed, "the request was dropped", std::nullopt});
}

PeerId InboundStream::peer() const {
    return link_->peer();
}

void InboundStream::set_background_priority() {
    link_->set_background_priority();
}

Result<void> InboundStream::push_head(const wire::Head& head) {
    auto pushed = link_->machine().inbound().push_head(state_, head);
    link_->update();
    return pushed;
}

Result<void> InboundStream::push_data(const wire::Data& data) {
    auto pushed = link_->machine().inbound().push_data(state_, data);
    link_->update();
    return pushed;
}

Result<void> InboundStream::push_end(const wire::End& end) {
    auto pushed = link_->machine().push_end(steady_now(), state_, end);
    if (pushed) state_->on_cancel = nullptr;
    link_->update();
    return pushed;
}

Result<void> InboundStream::push_shared(ByteView bytes, std::shared_ptr<const void> owner) {
    auto pushed = link_->machine().inbound().push_shared(state_, bytes, std::move(owner));
    link_->update();
    return pushed;
}

bool InboundStream::has_room(bool for_data) const {
    return link_->machine().inbound().has_room(state_, for_data);
}

void InboundStream::on_ready(std::function<void()> handler) {
    state_->on_ready = std::move(handler);
}

bool InboundStream::cancelled() const {
    return state_->cancelled || state_->broken;
}

void InboundStream::on_cancel(std::function<void()> handler) {
    if (state_->ended) return;
    if (cancelled() && handler)
        boost::asio::post(link_->executor(), std::move(handler));
    else
        state_->on_cancel = std::move(handler);
}

}  // namespace exa::io::link
