#include "openai/error.h"
#include "support/print.h"

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <boost/test/unit_test.hpp>

namespace {

namespace openai = exa::openai;

std::optional<std::string> header(const openai::ApiError& error, std::string_view name) {
    for (const openai::Header& header : error.headers())
        if (header.name == name) return header.value;
    return std::nullopt;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(error)

BOOST_AUTO_TEST_CASE(a_body_has_the_four_members_clients_read) {
    const auto body = boost::json::parse(openai::model_not_found("gpt\"9").body());
    BOOST_TEST(body.as_object().size() == 1u);
    const auto& error = body.at("error").as_object();
    BOOST_TEST(error.size() == 4u);
    BOOST_TEST(error.at("message").as_string().find("gpt\"9") != std::string::npos);
    BOOST_TEST(error.at("type") == "invalid_request_error");
    BOOST_TEST(error.at("param") == "model");
    BOOST_TEST(error.at("code") == "model_not_found");
}

BOOST_AUTO_TEST_CASE(absent_members_are_null) {
    const auto body = boost::json::parse(openai::invalid_json("syntax error", 3).body());
    BOOST_TEST(body.at("error").at("param").is_null());
}

BOOST_AUTO_TEST_CASE(every_maker_has_its_status) {
    BOOST_TEST(openai::invalid_json("", 0).status == 400);
    BOOST_TEST(openai::missing("model").status == 400);
    BOOST_TEST(openai::wrong_type("a", "b", "c").status == 400);
    BOOST_TEST(openai::out_of_range("a", "b", "c").status == 400);
    BOOST_TEST(openai::unsupported_parameter("tools").status == 400);
    BOOST_TEST(openai::context_length_exceeded("messages", 9, 8).status == 400);
    BOOST_TEST(openai::unauthorized().status == 401);
    BOOST_TEST(openai::forbidden("may not do that").status == 403);
    BOOST_TEST(openai::not_found("/x").status == 404);
    BOOST_TEST(openai::model_not_found("m").status == 404);
    BOOST_TEST(openai::method_not_allowed("GET", "/x", "POST").status == 405);
    BOOST_TEST(openai::request_timeout().status == 408);
    BOOST_TEST(openai::body_too_large(8).status == 413);
    BOOST_TEST(openai::unsupported_media_type("text/plain").status == 415);
    BOOST_TEST(openai::rate_limited("requests", 60, 1).status == 429);
    BOOST_TEST(openai::quota_exceeded("x").status == 429);
    BOOST_TEST(openai::headers_too_large(8).status == 431);
    BOOST_TEST(openai::internal("x").status == 500);
    BOOST_TEST(openai::upstream_failed("x").status == 502);
    BOOST_TEST(openai::overloaded(1).status == 503);
    BOOST_TEST(openai::draining(1).status == 503);
    BOOST_TEST(openai::unavailable("x", 1).status == 503);
    BOOST_TEST(openai::timed_out("x", 1).status == 504);
}

BOOST_AUTO_TEST_CASE(overload_tells_when_to_come_back) {
    const auto error = openai::overloaded(1200);
    BOOST_TEST(header(error, "retry-after-ms").value() == "1200");
    BOOST_TEST(header(error, "retry-after").value() == "2");
    BOOST_TEST(header(error, "x-should-retry").value() == "true");
    BOOST_TEST(openai::missing("model").headers().empty());
}

BOOST_AUTO_TEST_CASE(a_rate_is_worth_a_retry_and_a_quota_is_not) {
    const auto rate = openai::rate_limited("tokens", 6000, 250);
    BOOST_TEST(rate.type == "tokens");
    BOOST_TEST(rate.code.value() == "rate_limit_exceeded");
    BOOST_TEST(header(rate, "retry-after").value() == "1");
    BOOST_TEST(header(rate, "x-should-retry").value() == "true");
    const auto quota = openai::quota_exceeded("no tokens left this month");
    BOOST_TEST(quota.type == "insufficient_quota");
    BOOST_TEST(quota.code.value() == "insufficient_quota");
    BOOST_TEST(!header(quota, "retry-after").has_value());
    BOOST_TEST(header(quota, "x-should-retry").value() == "false");
}

BOOST_AUTO_TEST_CASE(a_missing_key_is_told_apart_from_one_that_may_not) {
    BOOST_TEST(openai::unauthorized().code.value() == "invalid_api_key");
    BOOST_TEST(header(openai::unauthorized(), "www-authenticate").value() == "Bearer");
    const auto error = openai::forbidden("may not use the model 'm'");
    BOOST_TEST(error.code.value() == "permission_denied");
    BOOST_TEST(error.headers().empty());
}

BOOST_AUTO_TEST_CASE(a_timeout_has_a_code_of_its_own) {
    const auto error = openai::timed_out("3 tries", 1000);
    BOOST_TEST(error.code.value() == "timeout");
    BOOST_TEST(header(error, "retry-after-ms").value() == "1000");
    BOOST_TEST(openai::upstream_failed("x").code.value() == "upstream_failed");
}

BOOST_AUTO_TEST_CASE(a_405_names_what_is_allowed) {
    BOOST_TEST(header(openai::method_not_allowed("GET", "/x", "POST"), "allow").value() == "POST");
}

// A path comes from the request line and may hold any bytes.
BOOST_AUTO_TEST_CASE(hostile_bytes_are_shown_short_and_as_valid_json) {
    std::string hostile = "/\xFF\"\n\x01";
    for (int i = 0; i < 1000; ++i) hostile += "\xF0\x9F\x98\x80";
    const std::string body = openai::not_found(hostile).body();
    BOOST_TEST(body.size() < 400u);
    BOOST_CHECK_NO_THROW(boost::json::parse(body));
    BOOST_TEST(openai::out_of_range("stop", hostile, "short").body().size() < 400u);
    BOOST_TEST(openai::missing(hostile).body().size() < 600u);
}

BOOST_AUTO_TEST_SUITE_END()
