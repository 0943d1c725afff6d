// Routes: which path of a peer's HTTP is what, as one table.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "wire/link_messages.h"

namespace exa::app::access {

enum class Resource : std::uint8_t {
    answer,  // of a model, by way of Ingress: RouteMatch::kind says which
    models,
    model,
    ready,
    live,
    metrics,
    members,
    status,
    keys,
    replicas,
    ring,
    route,
    kv,
    config,
    join,
    leave,
    confirm_dead,
    change_keys,
    change_kv,
    reload_config,
};

// Who may ask.
enum class Access : std::uint8_t {
    anyone,     // probes and scrapers
    client,     // of the API
    read_only,  // sees the cluster, changes nothing
    admin,
};

struct Route {
    std::string_view method;  // "GET" takes HEAD too
    std::string_view path;    // the whole one, or with a '/' at its end the start of one
    Access access = Access::client;
    Resource resource = Resource::answer;
    wire::RequestKind kind = wire::RequestKind::chat;  // of Resource::answer
};

std::span<const Route> routes();

// The route of a request, or why there is none: `allow` names the methods of the path (405), empty when the path is
// unknown (404).
struct RouteMatch {
    const Route* route = nullptr;
    std::string_view rest;  // of the path, behind a route's that is only the start
    std::string allow;
};

// `path` lives as long as the match.
RouteMatch find_route(std::string_view method, std::string_view path);

}  // namespace exa::app::access
