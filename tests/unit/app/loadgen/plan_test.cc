#include "app/loadgen/plan.h"

#include <boost/test/unit_test.hpp>

using namespace exa;
using namespace exa::app;
using namespace exa::app::loadgen;

BOOST_AUTO_TEST_SUITE(load_plan)

BOOST_AUTO_TEST_CASE(a_target_without_a_path_gets_the_usual_one) {
    const auto target = make_load_target("http://127.0.0.1:8001/", exa::loadgen::Api::chat, {}).value();
    BOOST_TEST(target.head.starts_with("POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1:8001\r\n"));
    BOOST_TEST(to_string(target.endpoint) == "127.0.0.1:8001");
    BOOST_TEST(target.url == "http://127.0.0.1:8001/");
}

BOOST_AUTO_TEST_CASE(a_path_stands_before_the_name_of_the_api) {
    const auto target = make_load_target("[::1]:9/llm/v2/", exa::loadgen::Api::completions, {{"a", "b"}}).value();
    BOOST_TEST(target.head ==
               "POST /llm/v2/completions HTTP/1.1\r\nhost: [::1]:9\r\ncontent-type: application/json\r\na: b\r\n");
}

BOOST_AUTO_TEST_CASE(what_is_no_url_of_plain_http_is_refused) {
    for (const char* url : {"https://127.0.0.1", "http://", "http://127.0.0.1:0", "http://127.0.0.1:x"})
        BOOST_TEST(!make_load_target(url, exa::loadgen::Api::chat, {}).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
