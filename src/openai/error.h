// ApiError: an answer other than 2xx, in the shape OpenAI's clients parse
// (https://platform.openai.com/docs/guides/error-codes): {"error":{"message","type","param","code"}}.
//
// The makers below are the whole vocabulary. A message names the JSON path, the value and the range; values are cut to
// a bounded length and never hold a prompt.
#pragma once

#include <boost/outcome/basic_result.hpp>
#include <boost/outcome/policy/terminate.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace exa::openai {

struct Header {
    std::string name;  // lower case
    std::string value;
    bool operator==(const Header&) const = default;
};

struct ApiError {
    int status = 500;  // HTTP
    std::string message;
    std::string type;                             // "invalid_request_error", "server_error", ...
    std::optional<std::string> param;             // JSON path such as "messages[1].content[0].type"
    std::optional<std::string> code;              // for programs: "model_not_found"
    std::optional<std::uint32_t> retry_after_ms;  // also sends x-should-retry: true
    bool retry_is_useless = false;                // sends x-should-retry: false; clients else retry every 409, 429, 5xx
    std::optional<std::string> allow;             // the allow header of a 405

    // The JSON object, without a newline behind it.
    std::string body() const;
    // Beside content-type and content-length: what the client needs to wait and to retry.
    std::vector<Header> headers() const;
};

// Not exa::Result: its error is a whole HTTP answer rather than a code.
template <class T>
using ApiResult = boost::outcome_v2::basic_result<T, ApiError, boost::outcome_v2::policy::terminate>;

// 400: what the client wrote.
ApiError invalid_json(std::string_view reason, std::size_t offset);
// Valid perhaps, but nested deeper than is read here.
ApiError too_deep(std::size_t levels_max);
ApiError missing(std::string_view path);
// `expected` reads behind "must be": "a string".
ApiError wrong_type(std::string_view path, std::string_view expected, std::string_view got);
// `range` reads behind "must be": "from 0 to 2".
ApiError out_of_range(std::string_view path, std::string_view value, std::string_view range);
// `reason` says what this server does support; it may be empty.
ApiError unsupported_parameter(std::string_view path, std::string_view reason = {});
// Whether a prompt was counted to its end.
enum class Counted : std::uint8_t { whole, at_least };
ApiError context_length_exceeded(std::string_view param, std::uint64_t prompt_tokens, std::uint64_t context_tokens,
                                 Counted counted = Counted::whole);

// Other 4xx.
ApiError unauthorized();
// 403: the key is good, but not for this; `what` reads behind "This API key": "may not use the model 'm'".
ApiError forbidden(std::string_view what);
ApiError not_found(std::string_view path);
ApiError model_not_found(std::string_view model);
ApiError method_not_allowed(std::string_view method, std::string_view path, std::string_view allowed);
ApiError body_too_large(std::uint64_t limit_bytes);
ApiError headers_too_large(std::uint64_t limit_bytes);
ApiError request_timeout();
ApiError unsupported_media_type(std::string_view content_type);
// 429: the tenant's rate, which the client may try again. `unit` is what it counts: "requests" or "tokens".
ApiError rate_limited(std::string_view unit, std::uint64_t limit_per_minute, std::uint32_t retry_after_ms);
// 429: the tenant's quota is used up; no retry helps.
ApiError quota_exceeded(std::string_view why);

// 5xx.
// 503: every candidate is at its own limit, nothing was started.
ApiError overloaded(std::uint32_t retry_after_ms);
ApiError draining(std::uint32_t retry_after_ms);
// 503: this peer is about to leave or still starting; another one answers.
ApiError unavailable(std::string_view why, std::uint32_t retry_after_ms);
// 502: replicas that were tried failed before a byte of the answer existed.
ApiError upstream_failed(std::string_view why);
// 504: replicas were tried, none began its answer in time.
ApiError timed_out(std::string_view why, std::uint32_t retry_after_ms);
// 500: a bug of ours that was survived.
ApiError internal(std::string_view why);

}  // namespace exa::openai
