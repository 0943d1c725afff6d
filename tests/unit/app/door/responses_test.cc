#include "app/door/responses.h"

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <string>

#include "router/errc.h"

using namespace exa;
using namespace exa::app;

BOOST_AUTO_TEST_SUITE(responses)

namespace {

io::HttpResponse answer_to(router::errc code, std::uint16_t status, std::string_view failure = "") {
    return to_response(
        router::Reject{.error = error(code), .status = status, .retry_after = std::chrono::milliseconds(1500)}, "m",
        failure);
}

bool says(const io::HttpResponse& response, std::string_view code) {
    return response.body.find("\"code\":\"" + std::string(code) + "\"") != std::string::npos;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_timeout_is_504_with_a_code_of_its_own) {
    const io::HttpResponse response = answer_to(router::errc::upstream_timeout, 504);
    BOOST_TEST(response.status == 504);
    BOOST_TEST(says(response, "timeout"), response.body);
}

BOOST_AUTO_TEST_CASE(failures_that_may_pass_say_when_to_try_again) {
    for (const auto& [code, status] : {std::pair(router::errc::upstream_failed, std::uint16_t{502}),
                                       {router::errc::all_replicas_busy, std::uint16_t{503}},
                                       {router::errc::no_replica_ready, std::uint16_t{503}},
                                       {router::errc::replicas_draining, std::uint16_t{503}},
                                       {router::errc::out_of_reach, std::uint16_t{503}},
                                       {router::errc::upstream_timeout, std::uint16_t{504}}}) {
        const io::HttpResponse response = answer_to(code, status);
        BOOST_TEST(response.status == status);
        BOOST_TEST(response.headers.find("retry-after-ms").value_or("") == "1500", response.body);
        BOOST_TEST(response.headers.find("x-should-retry").value_or("") == "true");
    }
}

BOOST_AUTO_TEST_CASE(why_the_last_replica_failed_is_told_where_replicas_failed) {
    const auto tells = [](router::errc code, std::uint16_t status, std::string_view text) {
        return answer_to(code, status, "the server answered \"500\"\xff").body.find(text) != std::string::npos;
    };
    BOOST_TEST(tells(router::errc::upstream_failed, 502, R"(tried failed: the server answered \"500\")"));
    BOOST_TEST(!tells(router::errc::all_replicas_busy, 503, "the server"));
    BOOST_TEST(!tells(router::errc::too_many_hops, 502, "the server"));
}

BOOST_AUTO_TEST_CASE(only_replicas_at_their_limit_are_called_overloaded) {
    BOOST_TEST(says(answer_to(router::errc::all_replicas_busy, 503), "overloaded"));
    BOOST_TEST(says(answer_to(router::errc::replicas_draining, 503), "draining"));
    BOOST_TEST(says(answer_to(router::errc::out_of_reach, 503), "unavailable"));
    BOOST_TEST(says(answer_to(router::errc::no_replica_ready, 503), "unavailable"));
}

BOOST_AUTO_TEST_CASE(an_unknown_model_is_404_and_not_worth_a_retry) {
    const io::HttpResponse response = answer_to(router::errc::model_not_found, 404);
    BOOST_TEST(response.status == 404);
    BOOST_TEST(!response.headers.find("retry-after").has_value());
}

BOOST_AUTO_TEST_SUITE_END()
