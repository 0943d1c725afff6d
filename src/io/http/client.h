// A blocking HTTP/1.1 client for the command line: one call, one connection.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "io/http/message.h"
#include "io/tls/settings.h"

namespace exa::io::http {

struct HttpCall {
    std::string host = "127.0.0.1";  // name or address, IPv6 without brackets
    std::uint16_t port = 0;
    bool https = false;
    std::shared_ptr<const tls::TlsSettings> trust = nullptr;  // of HTTPS; null: what the system trusts
    std::string method = "GET";
    std::string target = "/";
    HttpHeaders headers;  // host, content-length and connection are the client's
    std::string body;
    Duration connect_timeout = std::chrono::seconds(2);
    // From one byte to the next, the first included; never on the whole.
    Duration idle_timeout = std::chrono::seconds(60);
};

struct HttpReply {
    int status = 0;
    HttpHeaders headers;
    std::string body;
};

// "http://host:port/path", "https://...", "host:port" or "[::1]:port": host, port (80 or 443 when absent) and target of
// a call.
Result<HttpCall> parse_http_url(std::string_view url);

// errc::name_not_resolved, connect_failed, untrusted, timed_out, broken (cut in the middle), malformed, too_large (a
// body over 64 MiB). Any status is a reply.
Result<HttpReply> http_call(const HttpCall& call);

// As above, but hands the body of a 2xx over piece by piece as it arrives; the reply's body is then empty. The sink
// returns false to stop early, which is a success. Bodies of other statuses come in the reply.
Result<HttpReply> http_stream(const HttpCall& call, const std::function<bool(std::string_view piece)>& sink);

}  // namespace exa::io::http
