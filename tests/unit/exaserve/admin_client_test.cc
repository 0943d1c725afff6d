#include "exaserve/admin_client.h"

#include <boost/test/unit_test.hpp>

#include "exaserve/exit_code.h"

using namespace exa::cli;

BOOST_AUTO_TEST_SUITE(admin_client)

BOOST_AUTO_TEST_CASE(a_session_id_of_any_bytes_fits_a_query) {
    BOOST_TEST(percent_encoded("a-Z_0.9~") == "a-Z_0.9~");
    BOOST_TEST(percent_encoded("a b&c=d/%\xC3\xA9") == "a%20b%26c%3Dd%2F%25%C3%A9");
}

BOOST_AUTO_TEST_CASE(empty_members_are_left_out_of_a_query) {
    BOOST_TEST(query_text({{"session", "a b"}, {"model", ""}, {"x", "1"}}) == "?session=a%20b&x=1");
    BOOST_TEST(query_text({{"model", ""}}) == "");
}

BOOST_AUTO_TEST_CASE(a_url_that_is_none_is_wrong_usage) {
    const auto reply = AdminClient("http://").get("members");
    BOOST_TEST_REQUIRE(!reply.has_value());
    BOOST_TEST(reply.error().exit_code == exit_usage);
}

// Port 1 of loopback: nothing listens there, and nothing may without privileges.
BOOST_AUTO_TEST_CASE(nobody_there_is_unreachable_and_says_what_to_do) {
    const AdminClient client("127.0.0.1:1");
    const auto reply = client.get("members");
    BOOST_TEST_REQUIRE(!reply.has_value());
    BOOST_TEST(reply.error().exit_code == exit_unreachable);
    BOOST_TEST(reply.error().message.find("--peer") != std::string::npos);
    BOOST_TEST(!client.is_reachable());
}

BOOST_AUTO_TEST_SUITE_END()
