#include "openai/error.h"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <utility>

#include "openai/utf8.h"

namespace exa::openai {

namespace {

// Of anything a client sent that is shown back to it.
constexpr std::size_t shown_bytes_max = 120;

std::string shown(std::string_view text) {
    const std::string_view cut = text.substr(0, shown_bytes_max + 3);
    const std::string valid = valid_utf8(cut);
    const std::string_view kept = cut_utf8(valid, shown_bytes_max);
    return kept.size() < valid.size() || cut.size() < text.size() ? std::string(kept) + "..." : std::string(kept);
}

ApiError make(int status, std::string_view type, std::string message) {
    ApiError error;
    error.status = status;
    error.type = type;
    error.message = std::move(message);
    return error;
}

ApiError bad_request(std::string message, std::optional<std::string> param, std::optional<std::string> code) {
    ApiError error = make(400, "invalid_request_error", std::move(message));
    error.param = std::move(param);
    error.code = std::move(code);
    return error;
}

ApiError client_error(int status, std::string message, std::optional<std::string> code) {
    ApiError error = make(status, "invalid_request_error", std::move(message));
    error.code = std::move(code);
    return error;
}

// Why, if anybody knows.
std::string with_reason(std::string_view what, std::string_view why) {
    return why.empty() ? std::string(what) + "." : std::string(what) + ": " + std::string(why) + ".";
}

ApiError server_error(int status, std::string message, std::string code) {
    ApiError error = make(status, "server_error", std::move(message));
    error.code = std::move(code);
    return error;
}

boost::json::value text_or_null(const std::optional<std::string>& text) {
    return text ? boost::json::value(valid_utf8(*text)) : boost::json::value(nullptr);
}

}  // namespace

std::string ApiError::body() const {
    boost::json::object error;
    error["message"] = valid_utf8(message);
    error["type"] = type;
    error["param"] = text_or_null(param);
    error["code"] = text_or_null(code);
    return boost::json::serialize(boost::json::object{{"error", std::move(error)}});
}

std::vector<Header> ApiError::headers() const {
    std::vector<Header> headers;
    if (retry_after_ms) {
        headers.push_back({"retry-after-ms", std::to_string(*retry_after_ms)});
        // Whole seconds for clients that know only the header of RFC 9110, section 10.2.3: rounded up, never too early.
        headers.push_back({"retry-after", std::to_string((std::uint64_t{*retry_after_ms} + 999) / 1000)});
        headers.push_back({"x-should-retry", "true"});
    }
    if (retry_is_useless) headers.push_back({"x-should-retry", "false"});
    // RFC 9110, section 15.5.2: a 401 names a challenge.
    if (status == 401) headers.push_back({"www-authenticate", "Bearer"});
    if (allow) headers.push_back({"allow", *allow});
    return headers;
}

ApiError invalid_json(std::string_view reason, std::size_t offset) {
    return bad_request(
        "The request body is not valid JSON: " + std::string(reason) + " at byte " + std::to_string(offset) + ".",
        std::nullopt, "invalid_json");
}

ApiError too_deep(std::size_t levels_max) {
    return bad_request("The request body is nested more than " + std::to_string(levels_max) + " levels deep.",
                       std::nullopt, "nested_too_deep");
}

ApiError missing(std::string_view path) {
    return bad_request("Missing required parameter: '" + shown(path) + "'.", shown(path), "missing_required_parameter");
}

ApiError wrong_type(std::string_view path, std::string_view expected, std::string_view got) {
    return bad_request("Invalid type for '" + shown(path) + "': it must be " + std::string(expected) + ", got " +
                           std::string(got) + ".",
                       shown(path), "invalid_type");
}

ApiError out_of_range(std::string_view path, std::string_view value, std::string_view range) {
    return bad_request(
        "Invalid value for '" + shown(path) + "': it must be " + std::string(range) + ", got " + shown(value) + ".",
        shown(path), "invalid_value");
}

ApiError unsupported_parameter(std::string_view path, std::string_view reason) {
    std::string message = "Unsupported parameter: '" + shown(path) + "'";
    if (!reason.empty()) message += ": " + std::string(reason);
    return bad_request(message + ".", shown(path), "unsupported_parameter");
}

ApiError context_length_exceeded(std::string_view param, std::uint64_t prompt_tokens, std::uint64_t context_tokens,
                                 Counted counted) {
    // LiteLLM knows this error by these words, whatever the code says.
    return bad_request("This model's maximum context length is " + std::to_string(context_tokens) +
                           " tokens: the prompt has " + (counted == Counted::at_least ? "at least " : "") +
                           std::to_string(prompt_tokens) + " and leaves no room for an answer.",
                       std::string(param), "context_length_exceeded");
}

ApiError unauthorized() {
    return client_error(401, "A valid API key is needed: send it as 'authorization: Bearer KEY'.", "invalid_api_key");
}

ApiError forbidden(std::string_view what) {
    return client_error(403, "This API key " + std::string(what) + ".", "permission_denied");
}

ApiError not_found(std::string_view path) {
    return client_error(404, "There is nothing at '" + shown(path) + "'.", "not_found");
}

ApiError model_not_found(std::string_view model) {
    ApiError error =
        client_error(404, "The model '" + shown(model) + "' is not served here; GET /v1/models lists those that are.",
                     "model_not_found");
    error.param = "model";
    return error;
}

ApiError method_not_allowed(std::string_view method, std::string_view path, std::string_view allowed) {
    ApiError error = client_error(
        405, "'" + shown(path) + "' does not take " + shown(method) + ", only " + std::string(allowed) + ".",
        "method_not_allowed");
    error.allow = std::string(allowed);
    return error;
}

ApiError body_too_large(std::uint64_t limit_bytes) {
    return client_error(413, "The request body is longer than " + std::to_string(limit_bytes) + " bytes.",
                        "body_too_large");
}

ApiError headers_too_large(std::uint64_t limit_bytes) {
    return client_error(431, "The request headers are longer than " + std::to_string(limit_bytes) + " bytes.",
                        "headers_too_large");
}

ApiError request_timeout() {
    return client_error(408, "The request did not arrive in time.", "request_timeout");
}

ApiError unsupported_media_type(std::string_view content_type) {
    return client_error(
        415, "The request body must be application/json without a content-encoding, not '" + shown(content_type) + "'.",
        "unsupported_media_type");
}

ApiError rate_limited(std::string_view unit, std::uint64_t limit_per_minute, std::uint32_t retry_after_ms) {
    ApiError error = make(
        429, unit,
        "The rate limit of " + std::to_string(limit_per_minute) + " " + std::string(unit) + " a minute is reached.");
    error.code = "rate_limit_exceeded";
    error.retry_after_ms = retry_after_ms;
    return error;
}

ApiError quota_exceeded(std::string_view why) {
    ApiError error = make(429, "insufficient_quota", "The quota is used up: " + std::string(why) + ".");
    error.code = "insufficient_quota";
    error.retry_is_useless = true;
    return error;
}

ApiError overloaded(std::uint32_t retry_after_ms) {
    ApiError error =
        server_error(503, "Every replica of this model is at its limit; nothing was started.", "overloaded");
    error.retry_after_ms = retry_after_ms;
    return error;
}

ApiError draining(std::uint32_t retry_after_ms) {
    ApiError error = server_error(
        503,
        "Every replica of this model that could be asked is draining and takes no new requests; nothing was started.",
        "draining");
    error.retry_after_ms = retry_after_ms;
    return error;
}

ApiError unavailable(std::string_view why, std::uint32_t retry_after_ms) {
    ApiError error = server_error(503, std::string(why) + ".", "unavailable");
    error.retry_after_ms = retry_after_ms;
    return error;
}

ApiError upstream_failed(std::string_view why) {
    return server_error(502, with_reason("The replicas that were tried failed", why), "upstream_failed");
}

ApiError timed_out(std::string_view why, std::uint32_t retry_after_ms) {
    ApiError error = server_error(504, with_reason("No replica answered in time", why), "timeout");
    error.retry_after_ms = retry_after_ms;
    return error;
}

ApiError internal(std::string_view why) {
    return server_error(500, "Internal error: " + std::string(why) + ".", "internal_error");
}

}  // namespace exa::openai
