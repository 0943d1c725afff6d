#include "app/access/routes.h"

#include <array>

namespace exa::app::access {

namespace {

constexpr std::array table = {
    Route{"POST", "/v1/chat/completions", Access::client, Resource::answer, wire::RequestKind::chat},
    Route{"POST", "/v1/completions", Access::client, Resource::answer, wire::RequestKind::completion},
    Route{"POST", "/v1/responses", Access::client, Resource::answer, wire::RequestKind::response},
    Route{"POST", "/v1/embeddings", Access::client, Resource::answer, wire::RequestKind::embedding},
    Route{"POST", "/tokenize", Access::client, Resource::answer, wire::RequestKind::tokenize},
    Route{"POST", "/detokenize", Access::client, Resource::answer, wire::RequestKind::detokenize},
    Route{"GET", "/v1/models", Access::client, Resource::models},
    Route{"GET", "/v1/models/", Access::client, Resource::model},
    Route{"GET", "/health", Access::anyone, Resource::ready},
    Route{"GET", "/health/ready", Access::anyone, Resource::ready},
    Route{"GET", "/health/live", Access::anyone, Resource::live},
    Route{"GET", "/metrics", Access::anyone, Resource::metrics},
    Route{"GET", "/exaserve/v1/members", Access::read_only, Resource::members},
    Route{"GET", "/exaserve/v1/status", Access::read_only, Resource::status},
    Route{"GET", "/exaserve/v1/keys", Access::read_only, Resource::keys},
    Route{"GET", "/exaserve/v1/replicas", Access::read_only, Resource::replicas},
    Route{"GET", "/exaserve/v1/ring", Access::read_only, Resource::ring},
    Route{"GET", "/exaserve/v1/route", Access::read_only, Resource::route},
    Route{"GET", "/exaserve/v1/kv", Access::read_only, Resource::kv},
    Route{"POST", "/exaserve/v1/join", Access::admin, Resource::join},
    Route{"POST", "/exaserve/v1/leave", Access::admin, Resource::leave},
    Route{"POST", "/exaserve/v1/confirm-dead", Access::admin, Resource::confirm_dead},
    Route{"POST", "/exaserve/v1/keys", Access::admin, Resource::change_keys},
    Route{"POST", "/exaserve/v1/kv", Access::admin, Resource::change_kv},
    Route{"GET", "/exaserve/v1/config", Access::read_only, Resource::config},
    Route{"POST", "/exaserve/v1/config/reload", Access::admin, Resource::reload_config},
};

// A slash behind a path changes nothing: many clients join a base URL and a path with one too many.
bool leads_to(const Route& route, std::string_view path) {
    if (route.path.back() == '/') return path.starts_with(route.path);
    return path.starts_with(route.path) && (path.size() == route.path.size() || path.substr(route.path.size()) == "/");
}

}  // namespace

std::span<const Route> routes() {
    return table;
}

RouteMatch find_route(std::string_view method, std::string_view path) {
    RouteMatch match;
    for (const Route& route : table) {
        if (!leads_to(route, path)) continue;
        if (route.method == method || (route.method == "GET" && method == "HEAD")) {
            match.route = &route;
            if (route.path.back() == '/') match.rest = path.substr(route.path.size());
            match.allow.clear();
            return match;
        }
        if (!match.allow.empty()) match.allow += ", ";
        match.allow += route.method;
    }
    return match;
}

}  // namespace exa::app::access
