#include "app/gateway/cors.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/shared/errc.h"

namespace exa::app::gateway {

namespace {

// What a page may read of an answer beside its body.
constexpr std::string_view exposed =
    "x-request-id, x-session-id, x-exaserve-replica, retry-after, retry-after-ms, x-should-retry";

// How long a browser may remember a preflight's answer: what browsers take at most is 2 h (Chromium).
constexpr std::string_view remembered_seconds = "7200";

constexpr std::size_t requested_bytes_max = 1024;

// As a browser writes it in `origin` (RFC 6454 section 6.2): no path, no upper case.
bool is_origin(std::string_view text) {
    const auto host = text.starts_with("https://") ? text.substr(8) : text.starts_with("http://") ? text.substr(7) : "";
    return !host.empty() && host.size() <= 262 && std::ranges::all_of(host, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
               std::string_view("-._[]:").find(c) != std::string_view::npos;
    });
}

// The cluster is its operators' business.
bool is_for_pages(std::string_view path) {
    return !path.starts_with("/exaserve/");
}

// A list of header names, so that it can be said back.
bool is_name_list(std::string_view text) {
    return text.size() <= requested_bytes_max && std::ranges::all_of(text, [](char c) {
               return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                      c == '_' || c == ',' || c == ' ';
           });
}

}  // namespace

Result<Cors> Cors::parse(std::string_view origins) {
    Cors cors;
    while (!origins.empty()) {
        const std::string_view origin = origins.substr(0, origins.find(','));
        origins.remove_prefix(std::min(origin.size() + 1, origins.size()));
        if (origin == "*")
            cors.any_ = true;
        else if (is_origin(origin))
            cors.origins_.emplace_back(origin);
        else
            return error(shared::errc::usage,
                         fmt::format("'{}' is not '*' or an origin such as https://chat.example.org or "
                                     "http://localhost:3000, in lower case and without a path",
                                     origin));
    }
    return cors;
}

bool Cors::allows(std::string_view origin) const {
    return any_ || std::ranges::find(origins_, origin) != origins_.end();
}

std::vector<std::pair<std::string, std::string>> Cors::fields(const io::http::HttpRequest& request) const {
    if ((!any_ && origins_.empty()) || !is_for_pages(request.path)) return {};
    std::vector<std::pair<std::string, std::string>> fields;
    // A cache must not give one page the answer that names another.
    if (!any_) fields.emplace_back("vary", "origin");
    const auto origin = request.headers.find("origin");
    if (!origin || !allows(*origin)) return fields;
    fields.emplace_back("access-control-allow-origin", any_ ? "*" : *origin);
    fields.emplace_back("access-control-expose-headers", exposed);
    return fields;
}

std::optional<io::http::HttpResponse> Cors::preflight(const io::http::HttpRequest& request,
                                                      std::string_view methods) const {
    const auto origin = request.headers.find("origin");
    if (!origin || !allows(*origin) || !is_for_pages(request.path) ||
        !request.headers.find("access-control-request-method"))
        return std::nullopt;
    io::http::HttpResponse response;
    response.status = 204;
    response.headers.add("access-control-allow-methods", methods);
    // A wildcard would not cover `authorization`.
    const auto requested = request.headers.find("access-control-request-headers").value_or(std::string_view{});
    if (!requested.empty() && is_name_list(requested)) response.headers.add("access-control-allow-headers", requested);
    response.headers.add("access-control-max-age", remembered_seconds);
    return response;
}

}  // namespace exa::app::gateway
