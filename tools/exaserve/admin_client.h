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
#include "io/http/client.h"

namespace exa::cli {

using Query = std::vector<std::pair<std::string, std::string>>;

class AdminClient {
  public:
    // `url`: "http://host:port", "https://host:port", "host:port" or "[::1]:port". `key`: an admin's API key; empty
    // sends none. `ca_file` is whom to trust of https, as PEM text; empty: what the system trusts. A call fails with
    // exit_usage when these cannot be used.
    explicit AdminClient(std::string url, std::string key = {}, Duration idle_timeout = std::chrono::seconds(10),
                         std::string ca_file = {})
        : url_(std::move(url)), key_(std::move(key)), idle_timeout_(idle_timeout), ca_file_(std::move(ca_file)) {}

    // `path` is "members" of /exaserve/v1/members. Members of `query` that are empty are left out.
    // exit_unreachable when nobody answers, or who is no peer; exit_refused when the peer answers with an error, whose
    // message it carries.
    Outcome<boost::json::value> get(std::string_view path, const Query& query = {}) const;
    Outcome<boost::json::value> post(std::string_view path, const boost::json::value& body) const;

    // True while something accepts connections at the URL.
    bool is_reachable() const;

    const std::string& url() const { return url_; }

  private:
    Outcome<boost::json::value> call(std::string_view method, std::string_view path, std::string_view query,
                                     std::string body) const;

    // A call to the URL, without a method and a target.
    Outcome<io::http::HttpCall> prepare() const;

    std::string url_;
    std::string key_;
    Duration idle_timeout_;
    std::string ca_file_;
};

// RFC 3986, section 2.1: all but unreserved characters as %XX.
std::string percent_encoded(std::string_view text);

// "?a=b&c=d" of the members that are not empty, or nothing.
std::string query_text(const Query& query);

}  // namespace exa::cli
