#include "gateway/rejection.h"

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <string>

#include "router/errc.h"

using namespace exa;
using namespace exa::gateway;

BOOST_AUTO_TEST_SUITE(rejection)

namespace {

openai::ApiError answer_to(router::errc code, std::uint16_t status, std::string_view failure = "") {
    return gateway::rejection(
        router::Reject{.error = error(code), .status = status, .retry_after = std::chrono::milliseconds(1500)}, "m",
        failure);
}

bool says(const openai::ApiError& error, std::string_view code) {
    return error.code == code;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_timeout_is_504_with_a_code_of_its_own) {
    const openai::ApiError error = answer_to(router::errc::upstream_timeout, 504);
    BOOST_TEST(error.status == 504);
    BOOST_TEST(says(error, "timeout"), error.body());
}

BOOST_AUTO_TEST_CASE(failures_that_may_pass_say_when_to_try_again) {
    for (const auto& [code, status] : {std::pair(router::errc::upstream_failed, std::uint16_t{502}),
                                       {router::errc::all_replicas_busy, std::uint16_t{503}},
                                       {router::errc::no_replica_ready, std::uint16_t{503}},
                                       {router::errc::replicas_draining, std::uint16_t{503}},
                                       {router::errc::out_of_reach, std::uint16_t{503}},
                                       {router::errc::upstream_timeout, std::uint16_t{504}}}) {
        const openai::ApiError error = answer_to(code, status);
        BOOST_TEST(error.status == status);
        BOOST_TEST(error.retry_after_ms.value_or(0) == 1500U, error.body());
        BOOST_TEST(!error.retry_is_useless);
    }
}

BOOST_AUTO_TEST_CASE(why_the_last_replica_failed_is_told_where_replicas_failed) {
    const auto tells = [](router::errc code, std::uint16_t status, std::string_view text) {
        return answer_to(code, status, "the server answered \"500\"\xff").body().find(text) != std::string::npos;
    };
    BOOST_TEST(tells(router::errc::upstream_failed, 502, R"(tried failed: the server answered \"500\")"));
    BOOST_TEST(!tells(router::errc::all_replicas_busy, 503, "the server"));
    BOOST_TEST(!tells(router::errc::no_replica_ready, 503, "the server"));
}

BOOST_AUTO_TEST_CASE(no_message_says_the_same_twice) {
    BOOST_TEST(answer_to(router::errc::upstream_failed, 502).message == "The replicas that were tried failed.");
    BOOST_TEST(answer_to(router::errc::upstream_failed, 502, "reset").message ==
               "The replicas that were tried failed: reset.");
    BOOST_TEST(answer_to(router::errc::upstream_timeout, 504).message == "No replica answered in time.");
    BOOST_TEST(answer_to(router::errc::upstream_timeout, 504, "silent").message ==
               "No replica answered in time: silent.");
}

BOOST_AUTO_TEST_CASE(only_replicas_at_their_limit_are_called_overloaded) {
    BOOST_TEST(says(answer_to(router::errc::all_replicas_busy, 503), "overloaded"));
    BOOST_TEST(says(answer_to(router::errc::replicas_draining, 503), "draining"));
    BOOST_TEST(says(answer_to(router::errc::out_of_reach, 503), "unavailable"));
    BOOST_TEST(says(answer_to(router::errc::no_replica_ready, 503), "unavailable"));
}

BOOST_AUTO_TEST_CASE(a_prompt_too_long_for_every_replica_is_the_clients_error) {
    const openai::ApiError error = answer_to(router::errc::context_too_long, 400);
    BOOST_TEST(error.status == 400);
    BOOST_TEST(says(error, "context_length_exceeded"));
    BOOST_TEST(error.type == "invalid_request_error");
}

BOOST_AUTO_TEST_CASE(an_unknown_model_is_404_and_not_worth_a_retry) {
    const openai::ApiError error = answer_to(router::errc::model_not_found, 404);
    BOOST_TEST(error.status == 404);
    BOOST_TEST(!error.retry_after_ms.has_value());
}

BOOST_AUTO_TEST_SUITE_END()
