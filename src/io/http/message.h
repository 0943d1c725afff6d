// HTTP requests and responses as plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/endpoint.h"

namespace exa::io {

// Header fields in the order they came; names compare without case (RFC 9110 section 5.1).
class HttpHeaders {
  public:
    HttpHeaders() = default;
    HttpHeaders(std::initializer_list<std::pair<std::string, std::string>> fields) : fields_(fields) {}

    void add(std::string name, std::string value) { fields_.emplace_back(std::move(name), std::move(value)); }
    void reserve(std::size_t fields) { fields_.reserve(fields); }
    // The first field of that name; nothing when absent.
    std::optional<std::string_view> find(std::string_view name) const;
    const std::vector<std::pair<std::string, std::string>>& fields() const { return fields_; }

  private:
    std::vector<std::pair<std::string, std::string>> fields_;
};

struct HttpRequest {
    std::string id;      // x-request-id as the client sent it when it is fit to hand on, else made by the server
    std::string method;  // as sent: "GET", "POST", ...
    std::string path;    // the target up to '?', without scheme and host, not decoded; "*" of OPTIONS
    std::string query;   // behind '?', not decoded
    HttpHeaders headers;
    std::string body;
    Endpoint remote;
    bool keep_alive = true;
};

struct HttpResponse {
    int status = 200;
    // content-length, transfer-encoding, connection, date and x-request-id are the server's.
    HttpHeaders headers;
    std::string body;
};

// "OK" for 200; "Unknown" for what RFC 9110 does not name.
std::string_view reason_phrase(int status);

// A JSON body in OpenAI's error shape. `message` and `code` must not need JSON escapes.
HttpResponse http_error(int status, std::string_view message, std::string_view type, std::string_view code);

bool equal_without_case(std::string_view a, std::string_view b);

}  // namespace exa::io
