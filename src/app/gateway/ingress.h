// Ingress: the client's side of a request. It reads just enough of the body to route it and leaves the rest, from
// attempt to attempt, to a gateway::Request, whose actions a RequestDriver carries out.
//
// A stream that breaks in the middle resumes at another replica of the same numerics: the ingress minted the seed and
// the ids, and kept the token ids (docs/decisions/0004-answers-are-rendered-at-the-target.md).
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <boost/intrusive/list.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "app/access/authorizer.h"
#include "app/gateway/ready_queue.h"
#include "app/gateway/receiver.h"
#include "app/gateway/request_driver.h"
#include "app/shared/shared_view.h"
#include "io/clock/system_clock.h"
#include "io/http/server.h"
#include "io/link/pool.h"
#include "router/dispatcher.h"

namespace exa::app::gateway {

// Names the model of a request to an ingress that does not read bodies.
inline constexpr std::string_view model_header = "x-model";

struct IngressConfig {
    exa::gateway::Config request;
    // Requests are not read: the model is that of model_header, or the only one, the session that of x-session-id.
    bool hash_only = false;
    // What a request must carry in x-exaserve-warm-up, before a space and a replica's id, to reach a replica of this
    // peer that is not ready yet. Random, known to this process alone.
    std::string warm_up_secret;
};

// Belongs to one data-plane thread, like everything it refers to.
class Ingress {
  public:
    Ingress(const IngressConfig& config, access::Authorizer& authorizer, router::Dispatcher& dispatcher,
            io::link::LinkPool& links, Receiver& receiver, shared::ViewReader& view,
            const io::clock::SystemClock& clock, ReadyQueue& ready, const boost::asio::any_io_executor& executor);

    // Expires when every request that was handled before this call is answered; later ones do not count.
    std::weak_ptr<const void> watch_in_flight() { return std::exchange(in_flight_, std::make_shared<InFlight>()); }
    // Requests that ended in a 5xx, or broke in the middle.
    std::uint64_t failed() const { return deps_.failed; }
    // Of clients' headers, which no server sees.
    std::uint64_t fields_left_out() const { return fields_left_out_; }
    // Called when a request has ended that a replica was asked for.
    void on_end(std::function<void()> handler) { deps_.on_end = std::move(handler); }

    // What the header of a request for an answer says already: 403 for a model that is not the caller's.
    openai::ApiResult<void> check_head(const io::http::HttpHeaders& headers, const access::Caller& caller) const;

    // Answers one request for an answer of a model, whatever happens.
    void handle(io::http::HttpRequest request, std::shared_ptr<io::http::HttpExchange> exchange, wire::RequestKind kind,
                access::Caller caller);

  private:
    struct InFlight {};
    using Requests = boost::intrusive::list<RequestDriver, boost::intrusive::constant_time_size<false>>;

    void sweep_later();

    RequestDeps deps_;
    const bool hash_only_;
    const std::string warm_up_secret_;
    std::shared_ptr<const InFlight> in_flight_ = std::make_shared<InFlight>();
    Requests requests_;  // under way
    boost::asio::steady_timer sweep_;
    bool sweeping_ = false;
    std::uint64_t fields_left_out_ = 0;
};

}  // namespace exa::app::gateway
