#include "app/gateway/http_gateway.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/json/serialize.hpp>
#include <charconv>
#include <map>
#include <utility>

#include "app/admin/alarms_json.h"
#include "app/admin/keys_json.h"
#include "app/admin/kv_json.h"
#include "app/gateway/access_log.h"
#include "app/gateway/responses.h"
#include "app/gateway/traceparent.h"
#include "base/bytes.h"
#include "gateway/rejection.h"
#include "openai/error.h"
#include "openai/models.h"

namespace exa::app::gateway {

namespace {

namespace asio = boost::asio;

io::http::HttpResponse json_response(int status, std::string body) {
    return {status, {{"content-type", "application/json"}}, std::move(body)};
}

io::http::HttpResponse json_response(const boost::json::value& value, int status = 200) {
    return json_response(status, boost::json::serialize(value));
}

// RFC 3986, section 2.1. In a query a plus is a space, as HTML forms and most clients write it.
std::string percent_decoded(std::string_view text, bool plus_is_space) {
    std::string decoded;
    for (std::size_t i = 0; i < text.size(); ++i) {
        std::array<std::uint8_t, 1> byte{};
        if (text[i] == '%' && text.size() - i > 2 && from_hex(text.substr(i + 1, 2), byte)) {
            decoded.push_back(static_cast<char>(byte[0]));
            i += 2;
        } else {
            decoded.push_back(plus_is_space && text[i] == '+' ? ' ' : text[i]);
        }
    }
    return decoded;
}

}  // namespace

openai::ApiResult<void> parse_route_query(std::string_view query, router::RequestMeta& meta) {
    if (const std::string priority = query_value(query, "priority"); !priority.empty()) {
        constexpr std::array<std::string_view, 3> levels = {"high", "normal", "low"};
        const auto level = std::ranges::find(levels, priority);
        if (level == levels.end()) return openai::out_of_range("priority", priority, "high, normal or low");
        meta.priority = static_cast<std::uint32_t>(level - levels.begin());
    }
    if (const std::string prefix = query_value(query, "prefix"); !prefix.empty()) {
        const auto hash = parse_hex(prefix);
        if (!hash) return openai::out_of_range("prefix", prefix, "16 hexadecimal digits");
        meta.prefix_hash = *hash;
    }
    if (const std::string tokens = query_value(query, "prompt_tokens"); !tokens.empty()) {
        const auto [end, errc] = std::from_chars(tokens.data(), tokens.data() + tokens.size(), meta.prompt_tokens);
        if (errc != std::errc{} || end != tokens.data() + tokens.size())
            return openai::out_of_range("prompt_tokens", tokens, "a number below 2^32");
    }
    return boost::outcome_v2::success();
}

std::string query_value(std::string_view query, std::string_view name) {
    while (!query.empty()) {
        const std::string_view field = query.substr(0, query.find('&'));
        query.remove_prefix(std::min(field.size() + 1, query.size()));
        const auto equals = field.find('=');
        if (percent_decoded(field.substr(0, equals), true) != name) continue;
        return equals == field.npos ? std::string{} : percent_decoded(field.substr(equals + 1), true);
    }
    return {};
}

void HttpGateway::handle(io::http::HttpRequest request, std::shared_ptr<io::http::HttpExchange> exchange) {
    const access::RouteMatch match = access::find_route(request.method, request.path);
    for (const auto& [name, value] : cors_.fields(request)) exchange->add_field(name, value);
    if (exchange->wants_annotations()) {
        if (const auto trace = trace_id(request.headers))
            exchange->annotate(annotations::trace_id, std::string(*trace));
    }
    if (request.method == "OPTIONS" && (request.path == "*" || !match.allow.empty())) {
        exchange->push_answer(options(match, request));
        return;
    }
    auto caller = judge(match, request);
    if (!caller) {
        exchange->push_answer(to_response(caller.error()));
        return;
    }
    if (!caller.value().tenant.empty()) exchange->annotate(annotations::tenant, caller.value().tenant);
    if (match.route->resource == access::Resource::answer) {
        ingress_.handle(std::move(request), std::move(exchange), match.route->kind, std::move(caller).value());
        return;
    }
    if (match.route->resource == access::Resource::change_keys) {
        asio::co_spawn(executor_, change_keys(std::move(request.body), std::move(exchange)), asio::detached);
        return;
    }
    if (match.route->resource == access::Resource::confirm_dead) {
        asio::co_spawn(executor_, confirm_dead(std::move(request.body), std::move(exchange)), asio::detached);
        return;
    }
    if (match.route->resource == access::Resource::change_kv) {
        change_kv(request.body, std::move(exchange));
        return;
    }
    if (match.route->resource == access::Resource::reload_config) {
        reload_config(std::move(exchange));
        return;
    }
    exchange->push_answer(answer(match, request, caller.value()));
}

openai::ApiResult<access::Caller> HttpGateway::judge(const access::RouteMatch& match,
                                                     const io::http::HttpRequest& request) const {
    if (match.route != nullptr) return authorizer_.check(request, *match.route);
    if (match.allow.empty()) return openai::not_found(request.path);
    return openai::method_not_allowed(request.method, request.path, match.allow);
}

io::http::HeadVerdict HttpGateway::judge_head(const io::http::HttpRequest& request) const {
    const access::RouteMatch match = access::find_route(request.method, request.path);
    if (request.method == "OPTIONS" && (request.path == "*" || !match.allow.empty())) return {};
    const auto caller = judge(match, request);
    openai::ApiResult<void> allowed = boost::outcome_v2::success();
    if (!caller)
        allowed = caller.error();
    else if (match.route->resource == access::Resource::answer)
        allowed = ingress_.check_head(request.headers, caller.value());
    if (allowed) return {std::nullopt, caller.value().tenant};
    io::http::HttpResponse refusal = to_response(allowed.error());
    for (const auto& [name, value] : cors_.fields(request)) refusal.headers.add(name, value);
    return {std::move(refusal), {}};
}

bool HttpGateway::is_essential(const io::http::HttpRequest& request) {
    const access::RouteMatch match = access::find_route(request.method, request.path);
    return match.route != nullptr && match.route->resource != access::Resource::answer;
}

io::http::HttpResponse HttpGateway::options(const access::RouteMatch& match,
                                            const io::http::HttpRequest& request) const {
    const std::string methods = request.path == "*" ? "GET, POST" : match.allow;
    if (auto allowed = cors_.preflight(request, methods)) return std::move(*allowed);
    return {204, {{"allow", methods + ", OPTIONS"}}, {}};
}

void HttpGateway::change_kv(std::string_view body, std::shared_ptr<io::http::HttpExchange> exchange) const {
    auto command = admin::parse_kv_command(body);
    if (!command) {
        exchange->push_answer(to_response(command.error()));
        return;
    }
    // Exchanges belong to this thread.
    deps_.kv->run(std::move(command).value(),
                  [executor = executor_, exchange = std::move(exchange)](auto result) mutable {
                      asio::post(executor, [exchange = std::move(exchange), result = std::move(result)] {
                          exchange->push_answer(result ? json_response(result.value()) : to_response(result.error()));
                      });
                  });
}

void HttpGateway::reload_config(std::shared_ptr<io::http::HttpExchange> exchange) const {
    deps_.reload_config(
        [executor = executor_, exchange = std::move(exchange)](Result<boost::json::value> outcome) mutable {
            // Exchanges belong to this thread.
            asio::post(executor, [exchange = std::move(exchange), outcome = std::move(outcome)] {
                if (outcome) {
                    exchange->push_answer(json_response(outcome.value()));
                    return;
                }
                openai::ApiError error;
                error.status = 400;
                error.type = "invalid_request_error";
                error.code = "configuration_refused";
                error.message = "Nothing changed: " + outcome.error().detail;
                exchange->push_answer(to_response(error));
            });
        });
}

asio::awaitable<void> HttpGateway::change_keys(std::string body,
                                               std::shared_ptr<io::http::HttpExchange> exchange) const {
    auto command = admin::parse_key_command(body);
    if (!command) {
        exchange->push_answer(to_response(command.error()));
        co_return;
    }
    const auto change = co_await deps_.change_keys(std::move(command).value());
    exchange->push_answer(change ? json_response(admin::key_change_json(change.value()))
                                 : to_response(admin::command_refusal(change.error())));
}

asio::awaitable<void> HttpGateway::confirm_dead(std::string body,
                                                std::shared_ptr<io::http::HttpExchange> exchange) const {
    const auto insist = admin::parse_confirm_dead(body);
    if (!insist) {
        exchange->push_answer(to_response(insist.error()));
        co_return;
    }
    const auto warning = co_await deps_.confirm_dead(insist.value());
    exchange->push_answer(warning ? json_response(admin::confirm_dead_json(*view_.load()->members, warning.value()))
                                  : to_response(admin::command_refusal(warning.error())));
}

io::http::HttpResponse HttpGateway::answer(const access::RouteMatch& match, const io::http::HttpRequest& request,
                                           const access::Caller& caller) {
    const auto view = view_.load();
    switch (match.route->resource) {
        case access::Resource::models:
            return models({}, caller);
        case access::Resource::model:
            return models(match.rest, caller);
        case access::Resource::ready:
            return ready();
        case access::Resource::live:
            return json_response(boost::json::object{{"status", "ok"}});
        case access::Resource::metrics:
            return {200, {{"content-type", "text/plain; version=0.0.4"}}, deps_.metrics()};
        case access::Resource::members:
            return json_response(admin::members_json(clock_.now(), deps_.status(), *view->members));
        case access::Resource::status:
            return status();
        case access::Resource::keys:
            return json_response(admin::keys_json(*view));
        case access::Resource::replicas:
            return json_response(admin::replicas_json(clock_.now(), *view->members));
        case access::Resource::ring: {
            const std::string model = query_value(request.query, "model");
            if (!model.empty() && view->routing->pools_of(model).empty())
                return to_response(openai::model_not_found(model));
            return json_response(admin::ring_json(*view->routing, model));
        }
        case access::Resource::route:
            return explain(request);
        case access::Resource::config:
            return json_response(deps_.config());
        case access::Resource::kv:
            return json_response(admin::kv_json(deps_.kv->stats()));
        case access::Resource::join:
            return join(request);
        case access::Resource::leave:
            deps_.leave();
            return json_response(admin::leave_json(deps_.drain_seconds(), ::getpid()), 202);
        case access::Resource::confirm_dead:
        case access::Resource::answer:
        case access::Resource::change_keys:
        case access::Resource::change_kv:
        case access::Resource::reload_config:
            break;
    }
    return to_response(openai::internal("a route without an answer"));
}

io::http::HttpResponse HttpGateway::models(std::string_view id, const access::Caller& caller) const {
    const auto view = view_.load();
    std::map<std::string_view, openai::Model> models;
    for (const router::Pool& pool : view->routing->pools()) {
        if (pool.count == 0 || !authorizer_.may_use(caller, pool.key.model)) continue;
        openai::Model& model = models[pool.key.model];
        model.id = pool.key.model;
        model.context_tokens = std::max(model.context_tokens, pool.context_tokens_max);
    }
    if (!id.empty()) {
        const std::string name = percent_decoded(id, false);
        const auto found = models.find(name);
        if (found == models.end()) return to_response(openai::model_not_found(name));
        return json_response(200, openai::model_json(found->second));
    }
    std::vector<openai::Model> list;
    for (auto& [name, model] : models) list.push_back(std::move(model));
    return json_response(200, openai::models_json(list));
}

io::http::HttpResponse HttpGateway::ready() const {
    const auto view = view_.load();
    std::uint32_t ready = 0;
    for (const router::Pool& pool : view->routing->pools()) ready += pool.count;
    const bool healthy = !view->draining && ready > 0;
    const char* status = view->draining ? "draining" : healthy ? "ok" : "starting";
    return json_response(
        boost::json::object{
            {"status", status}, {"replicas_ready", ready}, {"alarms", admin::alarms_json(*view->members)}},
        healthy ? 200 : 503);
}

io::http::HttpResponse HttpGateway::status() {
    const auto view = view_.load();
    boost::json::value status = admin::status_json(deps_.status(), *view->members);
    status.get_object()["seal"] = admin::seal_json(clock_.now(), *view->seal);
    status.get_object()["seeds"] = admin::seeds_json(clock_.now(), *view->seeds);
    status.get_object()["waits_for"] = admin::name_holder_json(*view->members);
    status.get_object()["broken_channels"] = admin::broken_channels_json(clock_.now(), *view->members);
    return json_response(status);
}

io::http::HttpResponse HttpGateway::explain(const io::http::HttpRequest& request) {
    const auto view = view_.load();
    const std::string session = query_value(request.query, "session");
    const std::string tenant = query_value(request.query, "tenant");
    std::string model = query_value(request.query, "model");
    router::RequestMeta meta;
    if (auto shape = parse_route_query(request.query, meta); !shape) return to_response(shape.error());
    if (model.empty()) {
        const auto pools = view->routing->pools();
        if (pools.empty()) return to_response(openai::unavailable("no model is served yet", 1000));
        if (pools.front().key.model != pools.back().key.model)
            return to_response(openai::missing("model (the cluster serves several)"));
        model = pools.front().key.model;
    }
    // As for a request: a tenant is refused before anything is routed.
    if (!tenant.empty() && query_value(request.query, "unchecked") != "true") {
        if (const auto permitted = authorizer_.permits(tenant, model); !permitted)
            return to_response(permitted.error());
    }
    meta.wall = clock_.wall();
    meta.model = model;
    meta.session = session;
    meta.tenant = tenant;
    dispatcher_.handle_view(view->routing);
    const auto explanation = dispatcher_.explain(clock_.now(), meta);
    if (!explanation) {
        router::Reject reject{.error = explanation.error()};
        reject.status = router::http_status(static_cast<router::errc>(reject.error.code.value()));
        return to_response(exa::gateway::rejection(reject, model, {}));
    }
    return json_response(admin::route_json(session, explanation.value()));
}

io::http::HttpResponse HttpGateway::join(const io::http::HttpRequest& request) const {
    auto seeds = admin::parse_join(request.body);
    if (!seeds) return to_response(seeds.error());
    const boost::json::value reply = admin::join_json(seeds.value());
    deps_.join(std::move(seeds).value());
    return json_response(reply);
}

}  // namespace exa::app::gateway
