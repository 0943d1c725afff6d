#include "exaserve/admin_client.h"

#include <algorithm>
#include <array>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/outcome/try.hpp>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>

#include "exaserve/exit_code.h"
#include "io/errc.h"
#include "io/http/client.h"

namespace exa::cli {

namespace {

namespace json = boost::json;

constexpr std::string_view admin_root = "/exaserve/v1/";

// What a peer says in OpenAI's shape; nothing for another server's words.
std::optional<std::string> error_message(const json::value& body) {
    const auto* object = body.if_object();
    const auto* error = object == nullptr ? nullptr : object->if_contains("error");
    const auto* fields = error == nullptr ? nullptr : error->if_object();
    const auto* message = fields == nullptr ? nullptr : fields->if_contains("message");
    if (message != nullptr && message->is_string()) return std::string(message->get_string());
    return std::nullopt;
}

// A member that a peer's answer always has.
struct Mark {
    std::string_view method;
    std::string_view path;
    std::string_view member;
};

constexpr std::array marks = {
    Mark{"GET", "members", "members"}, Mark{"GET", "status", "self"},       Mark{"GET", "replicas", "replicas"},
    Mark{"GET", "ring", "pools"},      Mark{"GET", "route", "candidates"},  Mark{"GET", "keys", "encrypted"},
    Mark{"GET", "kv", "enabled"},      Mark{"POST", "join", "seeds"},       Mark{"POST", "leave", "state"},
    Mark{"POST", "keys", "id"},        Mark{"POST", "confirm-dead", "held"}};

bool is_answer(const json::value& body, std::string_view method, std::string_view path) {
    const auto* object = body.if_object();
    return object != nullptr && std::ranges::none_of(marks, [&](const Mark& mark) {
               return mark.method == method && mark.path == path && !object->contains(mark.member);
           });
}

}  // namespace

Outcome<json::value> AdminClient::get(std::string_view path, const Query& query) const {
    return call("GET", path, query_text(query), {});
}

Outcome<json::value> AdminClient::post(std::string_view path, const json::value& body) const {
    return call("POST", path, {}, json::serialize(body));
}

bool AdminClient::is_reachable() const {
    const auto prepared = prepare();
    if (!prepared) return false;
    io::http::HttpCall call = prepared.value();
    call.target = "/health";
    const auto reply = io::http::http_call(call);
    return reply.has_value() || reply.error().code != make_error_code(io::errc::connect_failed);
}

Outcome<io::http::HttpCall> AdminClient::prepare() const {
    auto parsed = io::http::parse_http_url(url_);
    if (!parsed) return Failure{exit_usage, "--peer: " + parsed.error().message()};
    io::http::HttpCall call = std::move(parsed).value();
    call.idle_timeout = idle_timeout_;
    if (!call.https || ca_file_.empty()) return call;
    std::ifstream file(ca_file_, std::ios::binary);
    const std::string pem(std::istreambuf_iterator<char>(file), {});
    auto trust = io::tls::TlsSettings::trust(pem);
    if (pem.empty() || !trust)
        return Failure{exit_usage, "--ca-file: " + ca_file_ + ": " +
                                       (pem.empty() ? "cannot be read, or is empty" : trust.error().message())};
    call.trust = std::move(trust).value();
    return call;
}

Outcome<json::value> AdminClient::call(std::string_view method, std::string_view path, std::string_view query,
                                       std::string body) const {
    BOOST_OUTCOME_TRY(io::http::HttpCall call, prepare());
    call.method = method;
    call.target = std::string(admin_root) + std::string(path) + std::string(query);
    if (!key_.empty()) call.headers.add("authorization", "Bearer " + key_);
    if (!body.empty()) call.headers.add("content-type", "application/json");
    call.body = std::move(body);
    const auto reply = io::http::http_call(call);
    if (!reply)
        return Failure{exit_unreachable, "no peer answers at " + url_ + " (" + reply.error().message() +
                                             "). Start one with 'exaserve up', or name another with --peer URL."};
    json::error_code errc;
    json::value value = json::parse(reply.value().body, errc);
    if (reply.value().status == 401)
        return Failure{exit_refused, url_ + " wants an admin's API key" +
                                         (key_.empty() ? "; give it with --admin-key or EXASERVE_ADMIN_KEY"
                                                       : ", and does not know the one that was sent")};
    const int status = reply.value().status;
    const auto message = errc || status < 300 ? std::nullopt : error_message(value);
    if (message) return Failure{exit_refused, url_ + ": " + *message};
    if (errc || status >= 300 || !is_answer(value, method, path))
        return Failure{exit_unreachable, "no ExaServe peer answers at " + url_ + ": " + std::string(method) + " " +
                                             std::string(admin_root) + std::string(path) + " gets " +
                                             (status >= 300 ? "HTTP status " + std::to_string(status)
                                              : errc        ? "what is no JSON"
                                                            : "JSON of another kind") +
                                             ". Name the HTTP address of a peer with --peer URL."};
    return value;
}

std::string percent_encoded(std::string_view text) {
    constexpr std::string_view unreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    constexpr std::string_view digits = "0123456789ABCDEF";
    std::string out;
    for (const char c : text) {
        if (unreserved.find(c) != std::string_view::npos) {
            out += c;
            continue;
        }
        const auto byte = static_cast<unsigned char>(c);
        out += '%';
        out += digits[byte >> 4];
        out += digits[byte & 15];
    }
    return out;
}

std::string query_text(const Query& query) {
    std::string out;
    for (const auto& [key, value] : query) {
        if (value.empty()) continue;
        out += (out.empty() ? "?" : "&") + key + "=" + percent_encoded(value);
    }
    return out;
}

}  // namespace exa::cli
