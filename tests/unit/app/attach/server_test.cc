#include "app/attach/server.h"

#include <boost/test/unit_test.hpp>
#include <string>

BOOST_AUTO_TEST_SUITE(attach_server)

using namespace exa;
using namespace exa::app;
using namespace exa::app::attach;

BOOST_AUTO_TEST_CASE(a_url_is_a_host_a_port_and_perhaps_a_prefix) {
    const auto plain = AttachServer::parse("http://gpu7:8001");
    BOOST_TEST_REQUIRE(plain.has_value());
    BOOST_TEST(plain.value().host == "gpu7");
    BOOST_TEST(plain.value().port == 8001);
    BOOST_TEST(plain.value().prefix == "");
    const auto prefixed = AttachServer::parse("http://[::1]:80/engines/a/");
    BOOST_TEST_REQUIRE(prefixed.has_value());
    BOOST_TEST(prefixed.value().host == "::1");
    BOOST_TEST(prefixed.value().prefix == "/engines/a");
}

BOOST_AUTO_TEST_CASE(what_cannot_be_asked_is_refused_with_its_reason) {
    const auto why = [](std::string_view url) {
        const auto server = AttachServer::parse(url);
        return server ? std::string("taken") : server.error().detail;
    };
    BOOST_TEST(why("gpu7:8001").ends_with("does not begin with http://"));
    BOOST_TEST(why("https://gpu7:8001").ends_with("does not begin with http://"));
    BOOST_TEST(why("http://gpu7:8001/v1").find("without /v1") != std::string::npos);
    BOOST_TEST(why("http://gpu7:x").find("the port") != std::string::npos);
    BOOST_TEST(why("http://").find("no host") != std::string::npos);
    BOOST_TEST(why("http://a b:1").find("characters") != std::string::npos);
    BOOST_TEST(why("http://a:1/x\r\nevil: y").find("characters") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_request_keeps_the_clients_path_fields_and_id_and_has_the_servers_key) {
    AttachServer server = AttachServer::parse("http://gpu7:8001/a").value();
    server.api_key = "secret";
    wire::Open open;
    open.kind = wire::RequestKind::embedding;
    open.body = "{}";
    open.x_request_id = "req-1";
    open.headers = {{"openai-beta", "x=y"}};
    BOOST_TEST(server.request_head(open) ==
               "POST /a/v1/embeddings HTTP/1.1\r\nhost: gpu7:8001\r\ncontent-type: application/json\r\n"
               "content-length: 2\r\nx-request-id: req-1\r\nauthorization: Bearer secret\r\nopenai-beta: x=y\r\n\r\n");
    open.target = "/v1/embeddings?a=b";
    BOOST_TEST(server.request_head(open).starts_with("POST /a/v1/embeddings?a=b HTTP/1.1\r\n"));
}

BOOST_AUTO_TEST_CASE(fields_of_the_connection_secrets_and_ours_are_not_passed_on) {
    const io::http::HttpHeaders headers{{"Authorization", "Bearer sk-1"},
                                        {"Connection", "keep-alive"},
                                        {"Host", "x"},
                                        {"Content-Length", "2"},
                                        {"Transfer-Encoding", "chunked"},
                                        {"Cookie", "a=b"},
                                        {"X-Request-Id", "r"},
                                        {"X-Session-Id", "s"},
                                        {"X-ExaServe-Warm-Up", "secret"},
                                        {"Accept-Encoding", "gzip"},
                                        {"Traceparent", "not valid"},
                                        {"User-Agent", "curl"},
                                        {"X-Custom", "kept"},
                                        {"x-long", std::string(2000, 'x')}};
    const auto [passed, left_out] = passed_fields(headers);
    BOOST_TEST(left_out == 1U);  // x-long, which its client may miss
    BOOST_TEST_REQUIRE(passed.size() == 2U);
    BOOST_TEST(passed[0].name == "user-agent");
    BOOST_TEST(passed[1].name == "x-custom");
    BOOST_TEST(passed[1].value == "kept");
}

BOOST_AUTO_TEST_CASE(no_more_fields_are_passed_on_than_a_message_holds) {
    io::http::HttpHeaders headers;
    for (int i = 0; i < 100; ++i) headers.add("x-" + std::to_string(i), "y");
    BOOST_TEST(passed_fields(headers).fields.size() == wire::headers_max);
    BOOST_TEST(passed_fields(headers).left_out == 100U - wire::headers_max);
    io::http::HttpHeaders large;
    for (int i = 0; i < 20; ++i) large.add("x-" + std::to_string(i), std::string(1000, 'y'));
    BOOST_TEST(passed_fields(large).fields.size() == 8U);
    BOOST_TEST(passed_fields(large).left_out == 12U);
    large.add("host", "x");
    BOOST_TEST(passed_fields(large).left_out == 12U);
}

BOOST_AUTO_TEST_SUITE_END()
