#include "exaserve/admin_client.h"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/outcome/try.hpp>
#include <fstream>
#include <iterator>

#include "exaserve/exit_code.h"
#include "io/errc.h"
#include "io/http/client.h"

namespace exa::cli {

namespace {

namespace json = boost::json;

constexpr std::string_view admin_root = "/exaserve/v1/";

// What the peer says in OpenAI's shape; else the status alone.
std::string error_message(int status, const json::value& body) {
    const auto* object = body.if_object();
    const auto* error = object == nullptr ? nullptr : object->if_contains("error");
    const auto* fields = error == nullptr ? nullptr : error->if_object();
    const auto* message = fields == nullptr ? nullptr : fields->if_contains("message");
    if (message != nullptr && message->is_string()) return std::string(message->get_string());
    return "HTTP status " + std::to_string(status);
}

}  // namespace

Outcome<json::value> AdminClient::get(std::string_view path, const Query& query) const {
    return call("GET", std::string(admin_root) + std::string(path) + query_text(query), {});
}

Outcome<json::value> AdminClient::post(std::string_view path, const json::value& body) const {
    return call("POST", std::string(admin_root) + std::string(path), json::serialize(body));
}

bool AdminClient::is_reachable() const {
    const auto prepared = prepare();
    if (!prepared) return false;
    io::HttpCall call = prepared.value();
    call.target = "/health";
    const auto reply = io::http_call(call);
    return reply.has_value() || reply.error().code != make_error_code(io::errc::connect_failed);
}

Outcome<io::HttpCall> AdminClient::prepare() const {
    auto parsed = io::parse_http_url(url_);
    if (!parsed) return Failure{exit_usage, "--peer: " + parsed.error().message()};
    io::HttpCall call = std::move(parsed).value();
    call.idle_timeout = idle_timeout_;
    if (!call.https || ca_file_.empty()) return call;
    std::ifstream file(ca_file_, std::ios::binary);
    const std::string pem(std::istreambuf_iterator<char>(file), {});
    auto trust = io::TlsSettings::trust(pem);
    if (pem.empty() || !trust)
        return Failure{exit_usage, "--ca-file: " + ca_file_ + ": " +
                                       (pem.empty() ? "cannot be read, or is empty" : trust.error().message())};
    call.trust = std::move(trust).value();
    return call;
}

Outcome<json::value> AdminClient::call(std::string method, std::string target, std::string body) const {
    BOOST_OUTCOME_TRY(io::HttpCall call, prepare());
    call.method = std::move(method);
    call.target = std::move(target);
    if (!key_.empty()) call.headers.add("authorization", "Bearer " + key_);
    if (!body.empty()) call.headers.add("content-type", "application/json");
    call.body = std::move(body);
    const auto reply = io::http_call(call);
    if (!reply)
        return Failure{exit_unreachable, "no peer answers at " + url_ + " (" + reply.error().message() +
                                             "). Start one with 'exaserve up', or name another with --peer URL."};
    json::error_code errc;
    json::value value = json::parse(reply.value().body, errc);
    if (reply.value().status == 401)
        return Failure{exit_refused, url_ + " wants an admin's API key" +
                                         (key_.empty() ? "; give it with --admin-key or EXASERVE_ADMIN_KEY"
                                                       : ", and does not know the one that was sent")};
    if (reply.value().status >= 300)
        return Failure{exit_refused, url_ + ": " + error_message(reply.value().status, errc ? json::value() : value)};
    if (errc) return Failure{exit_refused, url_ + " does not answer like a peer of exaserve: " + errc.message()};
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
