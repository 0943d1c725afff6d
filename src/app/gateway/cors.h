// Cors: which web pages may use the API from a browser (Fetch standard, section 3.2). Off unless origins are
// configured. Never for `/exaserve/`, and never with cookies: an API key goes in a header that the page sets itself.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "io/http/message.h"

namespace exa::app::gateway {

class Cors {
  public:
    // No page may.
    Cors() = default;
    // "https://host", "http://host:port", ... separated by commas, or "*": any page. errc::usage.
    static Result<Cors> parse(std::string_view origins);

    // What an answer to `request` says to a browser, whatever its status; nothing for other clients.
    std::vector<std::pair<std::string, std::string>> fields(const io::http::HttpRequest& request) const;

    // The answer to a browser that asks before it sends a request (OPTIONS); nothing when that is none, or it may not.
    // `methods` are those of the path.
    std::optional<io::http::HttpResponse> preflight(const io::http::HttpRequest& request,
                                                    std::string_view methods) const;

  private:
    bool allows(std::string_view origin) const;

    std::vector<std::string> origins_;
    bool any_ = false;
};

}  // namespace exa::app::gateway
