#include "app/attach/server.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "app/shared/errc.h"
#include "io/http/client.h"
#include "wire/errc.h"
#include "wire/validate.h"

namespace exa::app::attach {

namespace {

// What each side of an attached server has or makes of its own, the trace, which app/gateway/traceparent.h looks after,
// and what no message carries, of which every request has some.
constexpr std::array<std::string_view, 14> own_fields = {
    "accept-encoding",    "authorization", "connection",   "content-length",
    "content-type",       "date",          "expect",       "host",
    "traceparent",        "tracestate",    "x-request-id", "x-exaserve-warm-up",
    "x-exaserve-replica", "x-session-id",
};

bool is_own(std::string_view name) {
    return std::ranges::any_of(own_fields,
                               [&](std::string_view own) { return io::http::equal_without_case(name, own); });
}

std::string_view path_of(wire::RequestKind kind) {
    switch (kind) {
        case wire::RequestKind::chat:
            return "/v1/chat/completions";
        case wire::RequestKind::completion:
            return "/v1/completions";
        case wire::RequestKind::embedding:
            return "/v1/embeddings";
        case wire::RequestKind::response:
            return "/v1/responses";
        case wire::RequestKind::tokenize:
            return "/tokenize";
        case wire::RequestKind::detokenize:
            return "/detokenize";
        case wire::RequestKind::kv:
        case wire::RequestKind::unknown:
            break;
    }
    return "/";
}

std::string lower_case(std::string_view text) {
    std::string lower(text);
    std::ranges::transform(lower, lower.begin(),
                           [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    return lower;
}

}  // namespace

Result<AttachServer> AttachServer::parse(std::string_view url) {
    const auto bad = [&](std::string_view why) { return error(shared::errc::usage, fmt::format("'{}' {}", url, why)); };
    if (!url.starts_with("http://")) return bad("does not begin with http://");
    auto call = io::http::parse_http_url(url);
    if (!call) return bad("is not http://host:port: " + call.error().detail);
    AttachServer server;
    server.url = url;
    server.host = call.value().host;
    server.port = call.value().port;
    server.prefix = call.value().target;
    while (server.prefix.ends_with('/')) server.prefix.pop_back();
    if (server.prefix.ends_with("/v1")) return bad("must be without /v1, which the paths of the API begin with");
    const auto is_plain = [](char c) { return c > ' ' && c < 0x7f && c != '?' && c != '#'; };
    if (!std::ranges::all_of(server.prefix, is_plain) || !std::ranges::all_of(server.host, is_plain))
        return bad("has characters that no URL of a server has");
    return server;
}

bool AttachServer::is_same(const AttachServer& other) const {
    return port == other.port && prefix == other.prefix && io::http::equal_without_case(host, other.host);
}

std::string AttachServer::request_head(const wire::Open& open) const {
    const bool v6 = host.find(':') != std::string::npos;
    std::string head;
    head.reserve(512 + std::min(open.body.size(), joined_bytes_max));
    head.append("POST ").append(prefix);
    if (open.target.empty())
        head.append(path_of(open.kind));
    else
        head.append(open.target);
    head.append(v6 ? " HTTP/1.1\r\nhost: [" : " HTTP/1.1\r\nhost: ").append(host).append(v6 ? "]:" : ":");
    head.append(std::to_string(port)).append("\r\ncontent-type: application/json\r\ncontent-length: ");
    head.append(std::to_string(open.body.size())).append("\r\nx-request-id: ").append(open.x_request_id);
    if (!api_key.empty()) head.append("\r\nauthorization: Bearer ").append(api_key);
    for (const wire::HeaderField& field : open.headers)
        head.append("\r\n").append(field.name).append(": ").append(field.value);
    head.append("\r\n\r\n");
    return head;
}

PassedFields passed_fields(const io::http::HttpHeaders& headers) {
    PassedFields passed;
    std::size_t bytes = 0;
    bool is_full = false;
    for (const auto& [name, value] : headers) {
        if (is_own(name)) continue;
        wire::HeaderField field{lower_case(name), std::string(value)};
        if (const auto fit = wire::check(field); !fit) {
            passed.left_out += fit.error().code == wire::errc::oversized ? 1 : 0;
            continue;
        }
        const std::size_t size = name.size() + value.size();
        // All behind the first that has no room, so that a list of fields is never passed on with a gap.
        is_full = is_full || passed.fields.size() == wire::headers_max || bytes + size > wire::headers_bytes_max;
        if (is_full) {
            ++passed.left_out;
            continue;
        }
        bytes += size;
        passed.fields.push_back(std::move(field));
    }
    return passed;
}

}  // namespace exa::app::attach
