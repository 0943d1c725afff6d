// RequestDriver: carries out what one client request wants (gateway/request.h), over HTTP to its client and over links
// or here to replicas. It decides nothing.
//
// No timer of its own, and a coroutine only while a link is dialled: the reply wakes it through the thread's ready
// queue, the client's connection tells it what the client does, and the ingress's sweep looks at its deadline.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/intrusive/list_hook.hpp>
#include <cstdint>
#include <functional>
#include <memory>

#include "app/access/authorizer.h"
#include "app/gateway/ready_queue.h"
#include "app/gateway/receiver.h"
#include "app/shared/shared_view.h"
#include "gateway/request.h"
#include "io/clock/system_clock.h"
#include "io/http/server.h"
#include "io/link/outbound_stream.h"
#include "io/link/pool.h"
#include "router/dispatcher.h"

namespace exa::app::gateway {

// What the requests of one data-plane thread need.
struct RequestDeps {
    access::Authorizer& authorizer;
    router::Dispatcher& dispatcher;
    io::link::LinkPool& links;
    Receiver& receiver;
    shared::ViewReader& view;
    const io::clock::SystemClock& clock;
    ReadyQueue& ready;
    boost::asio::any_io_executor executor;
    exa::gateway::Config config;
    std::function<void()> on_end{};   // of each
    std::uint64_t failed = 0;         // ended in a 5xx, or broke in the middle
    exa::gateway::Actions actions{};  // empty between steps; kept for its memory
};

using RequestHook = boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

class RequestDriver final : public Runnable,
                            public io::http::AnswerListener,
                            public RequestHook,
                            public std::enable_shared_from_this<RequestDriver> {
  public:
    // `open` is what every attempt sends. `hold` is kept until the client has its answer.
    RequestDriver(RequestDeps& deps, std::shared_ptr<io::http::HttpExchange> exchange, wire::Open open,
                  std::shared_ptr<const void> hold);
    ~RequestDriver() override;

    const wire::Open& open() const { return request_.open(); }

    // Begins, with one of these. The first charges the tenant at the end.
    void start(const exa::gateway::RoutingHints& hints);
    // At a replica of this peer, or not at all.
    void start_at(ReplicaId replica, bool charged);

    // Acts on a silence that has lasted too long.
    void check(TimePoint now);

    void run() override;
    void client_left() override;
    void drained() override;

  private:
    // Runs `event`, which appends to the actions it is given, and carries out what follows until the request waits.
    template <class Event>
    void step(Event event);
    void carry_out(exa::gateway::Actions& actions);
    // Takes the next part of the reply. False: there is none, or the client is slow.
    bool take_part(exa::gateway::Actions& actions);
    void open_stream(exa::gateway::AttemptNumber attempt, exa::gateway::Actions& actions);
    boost::asio::awaitable<void> open_later(exa::gateway::AttemptNumber attempt);
    void take_opened(exa::gateway::AttemptNumber attempt, Result<std::shared_ptr<io::link::OutboundStream>> opened,
                     exa::gateway::Actions& actions);
    void take_reply(std::shared_ptr<replica::ReplyReader> reply);
    void send_head(exa::gateway::SendHead head);
    void drop_reply();
    void finish(const exa::gateway::Done& done);
    void note_attempt();
    // The dispatcher's view, before what may end an attempt.
    void refresh_view() { deps_.dispatcher.handle_view(deps_.view.load()->routing); }

    RequestDeps& deps_;
    std::shared_ptr<io::http::HttpExchange> exchange_;  // null: it is over
    const std::shared_ptr<const void> hold_;
    exa::gateway::Request request_;
    std::shared_ptr<replica::ReplyReader> reply_;  // null while there is none
    TimePoint now_{};  // of the current step: the clock is read once for all that one wake-up brings
    bool charged_ = true;
    bool in_step_ = false;
    bool client_gone_ = false;
};

}  // namespace exa::app::gateway
