// HttpGateway: the HTTP front end of a peer. It finds the route (app/access/routes.h) and checks who may use it.
// Ingress answers what needs a model, this class everything else.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/access/authorizer.h"
#include "app/access/key_command.h"
#include "app/access/routes.h"
#include "app/admin/admin_json.h"
#include "app/admin/kv_admin.h"
#include "app/gateway/cors.h"
#include "app/gateway/ingress.h"
#include "app/shared/shared_view.h"
#include "base/result.h"
#include "io/http/server.h"

namespace exa::app::gateway {

// What the gateway asks of the rest of the peer; callable from any thread.
struct GatewayDeps {
    std::function<admin::PeerStatus()> status;
    std::function<std::string()> metrics;
    const admin::KvAdmin* kv = nullptr;  // outlives the gateway
    // "host:port" texts to join through from now on.
    std::function<void(std::vector<std::string>)> join;
    std::function<void()> leave;
    // The value is what was insisted against; empty: nothing.
    std::function<boost::asio::awaitable<Result<std::string>>(bool insist)> confirm_dead;
    std::function<boost::asio::awaitable<Result<access::KeyChange>>(access::KeyCommand)> change_keys;
    // The options in effect, as JSON.
    std::function<boost::json::value()> config;
    // Reads the configuration again; `done` gets what came of it as JSON, or why nothing changed, on another thread.
    std::function<void(std::function<void(Result<boost::json::value>)> done)> reload_config;
    std::function<std::uint32_t()> drain_seconds;
};

class HttpGateway {
  public:
    HttpGateway(Ingress& ingress, access::Authorizer& authorizer, const Cors& cors, router::Dispatcher& dispatcher,
                shared::ViewReader& view, const io::clock::SystemClock& clock, boost::asio::any_io_executor executor,
                GatewayDeps deps)
        : ingress_(ingress),
          authorizer_(authorizer),
          cors_(cors),
          dispatcher_(dispatcher),
          view_(view),
          clock_(clock),
          executor_(std::move(executor)),
          deps_(std::move(deps)) {}

    // The server's handler.
    void handle(io::http::HttpRequest request, std::shared_ptr<io::http::HttpExchange> exchange);
    // For a request whose body is still to come: path, method, key and, where the header names it, the model.
    io::http::HeadVerdict judge_head(const io::http::HttpRequest& request) const;
    // Whether a request needs no model: health, metrics, commands.
    static bool is_essential(const io::http::HttpRequest& request);

  private:
    // Who asks; the error is the answer.
    openai::ApiResult<access::Caller> judge(const access::RouteMatch& match,
                                            const io::http::HttpRequest& request) const;
    // Of OPTIONS: what may be asked, and what a browser wants to know before it asks.
    io::http::HttpResponse options(const access::RouteMatch& match, const io::http::HttpRequest& request) const;
    // Of every resource but those that take time.
    io::http::HttpResponse answer(const access::RouteMatch& match, const io::http::HttpRequest& request,
                                  const access::Caller& caller);
    io::http::HttpResponse models(std::string_view id, const access::Caller& caller) const;
    io::http::HttpResponse ready() const;
    io::http::HttpResponse status();
    io::http::HttpResponse explain(const io::http::HttpRequest& request);
    io::http::HttpResponse join(const io::http::HttpRequest& request) const;
    void change_kv(std::string_view body, std::shared_ptr<io::http::HttpExchange> exchange) const;
    void reload_config(std::shared_ptr<io::http::HttpExchange> exchange) const;
    boost::asio::awaitable<void> confirm_dead(std::string body, std::shared_ptr<io::http::HttpExchange> exchange) const;
    boost::asio::awaitable<void> change_keys(std::string body, std::shared_ptr<io::http::HttpExchange> exchange) const;

    Ingress& ingress_;
    access::Authorizer& authorizer_;
    const Cors& cors_;
    router::Dispatcher& dispatcher_;
    shared::ViewReader& view_;
    const io::clock::SystemClock& clock_;
    boost::asio::any_io_executor executor_;
    GatewayDeps deps_;
};

// The value of `name` in a query string, percent-decoded, a plus being a space; empty when absent.
std::string query_value(std::string_view query, std::string_view name);

// What GET /exaserve/v1/route says of the request beside its session and model: `meta` gets it.
openai::ApiResult<void> parse_route_query(std::string_view query, router::RequestMeta& meta);

}  // namespace exa::app::gateway
