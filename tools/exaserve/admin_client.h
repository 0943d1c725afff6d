// AdminClient: one peer's admin API, as JSON.
#pragma once

#include <boost/json/value.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "exaserve/failure.h"

namespace exa::cli {

using Query = std::vector<std::pair<std::string, std::string>>;

class AdminClient {
  public:
    // `url`: "http://host:port", "host:port" or "[::1]:port". A call fails with exit_usage when it is none of these.
    // `key`: an admin's API key; empty sends none.
    explicit AdminClient(std::string url, std::string key = {}, Duration idle_timeout = std::chrono::seconds(10))
        : url_(std::move(url)), key_(std::move(key)), idle_timeout_(idle_timeout) {}

    // `path` is "members" of /exaserve/v1/members. Members of `query` that are empty are left out.
    // exit_unreachable when nobody answers; exit_refused when the peer answers with an error, whose message it carries.
    Outcome<boost::json::value> get(std::string_view path, const Query& query = {}) const;
    Outcome<boost::json::value> post(std::string_view path, const boost::json::value& body) const;

    // True while something accepts connections at the URL.
    bool is_reachable() const;

    const std::string& url() const { return url_; }

  private:
    Outcome<boost::json::value> call(std::string method, std::string target, std::string body) const;

    std::string url_;
    std::string key_;
    Duration idle_timeout_;
};

// RFC 3986, section 2.1: all but unreserved characters as %XX.
std::string percent_encoded(std::string_view text);

// "?a=b&c=d" of the members that are not empty, or nothing.
std::string query_text(const Query& query);

}  // namespace exa::cli
