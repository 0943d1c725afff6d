#include "openai/scan.h"

#include <boost/test/unit_test.hpp>

namespace {

namespace openai = exa::openai;
using openai::scan;

std::string messages(const std::string& list) {
    return R"({"model":"m","messages":)" + list + "}";
}

}  // namespace

BOOST_AUTO_TEST_SUITE(scanning)

BOOST_AUTO_TEST_CASE(what_routing_needs_is_found_in_place) {
    const std::string body = R"({"temperature":0,"model":"m\u00e9","stream":true,"seed":5,"max_tokens":9,"n":2,
        "user":"u","prompt_cache_key":"k","messages":[{"role":"user","content":"hi"}],"x":{"model":"other"}})";
    const auto found = scan(body).value();
    BOOST_TEST(found.model.text() == "m\xC3\xA9");
    BOOST_TEST(body.substr(static_cast<std::size_t>(found.model.raw.data() - body.data()), found.model.raw.size()) ==
               R"(m\u00e9)");
    BOOST_TEST(found.stream);
    BOOST_TEST(found.seed.value() == 5u);
    BOOST_TEST(found.max_tokens.value() == 9u);
    BOOST_TEST(found.n.value() == 2u);
    BOOST_TEST(found.user.text() == "u");
    BOOST_TEST(found.prompt_cache_key.text() == "k");
    BOOST_TEST(found.leading == "user\nhi\n");
    BOOST_TEST(found.prompt_tokens_estimate == 4u);
}

BOOST_AUTO_TEST_CASE(the_last_of_equal_keys_counts_however_it_is_written) {
    const auto found =
        scan(R"({"model":"a","m\u006fdel":"b","stream":true,"stream":null,"prompt":"xxxx","prompt":"y","seed":1,
            "seed":"none"})")
            .value();
    BOOST_TEST(found.model.text() == "b");
    BOOST_TEST(!found.stream);
    BOOST_TEST(found.leading == "y");
    BOOST_TEST(found.prompt_tokens_estimate == 0u);
    BOOST_TEST(!found.seed.has_value());
    BOOST_TEST(scan(R"({"model":"a","model":null})").value().model.empty());
}

BOOST_AUTO_TEST_CASE(what_no_target_could_take_is_refused) {
    BOOST_TEST(scan("{").error().code.value() == "invalid_json");
    BOOST_TEST(scan("[1").error().code.value() == "invalid_json");
    BOOST_TEST(scan(R"({"model":"m"}x)").error().code.value() == "invalid_json");
    for (const char* body : {"[]", "1", "null", R"("model")"})
        BOOST_TEST(scan(body).error().param.value() == "body", body);
    for (const char* body : {R"({"model":1})", R"({"model":["m"]})", R"({"model":true})"})
        BOOST_TEST(scan(body).error().code.value() == "invalid_type", body);
    openai::Limits limits;
    limits.body_bytes_max = 1;
    BOOST_TEST(scan("{}", limits).error().status == 413);
}

BOOST_AUTO_TEST_CASE(other_members_of_a_wrong_type_are_left_to_the_target) {
    const auto found = scan(R"({"model":"m","stream":1,"seed":[],"max_tokens":"9","n":-1,"user":{},
        "prompt_cache_key":7,"messages":[1,{"role":2,"content":{}}],"tools":[1]})")
                           .value();
    BOOST_TEST(!found.stream);
    BOOST_TEST(!found.seed.has_value());
    BOOST_TEST(!found.max_tokens.has_value());
    BOOST_TEST(!found.n.has_value());
    BOOST_TEST(found.user.empty());
    BOOST_TEST(found.prompt_cache_key.empty());
}

BOOST_AUTO_TEST_CASE(integers_are_read_as_the_target_reads_them) {
    const auto seed = [](const std::string& number) { return scan(R"({"seed":)" + number + "}").value().seed; };
    BOOST_TEST(seed("0").value() == 0u);
    BOOST_TEST(seed("18446744073709551615").value() == ~std::uint64_t{0});
    BOOST_TEST(seed("-1").value() == ~std::uint64_t{0});
    BOOST_TEST(seed("3.0").value() == 3u);
    BOOST_TEST(seed("3e2").value() == 300u);
    for (const char* none : {"1.5", "18446744073709551616", "1e400", "null"}) BOOST_TEST(!seed(none).has_value(), none);
}

BOOST_AUTO_TEST_CASE(the_newest_name_of_max_tokens_counts) {
    const auto max_tokens = [](const char* body) { return scan(body).value().max_tokens.value(); };
    BOOST_TEST(max_tokens(R"({"max_tokens":1,"max_completion_tokens":2})") == 2u);
    BOOST_TEST(max_tokens(R"({"max_tokens":1,"max_completion_tokens":null})") == 1u);
    BOOST_TEST(max_tokens(R"({"max_output_tokens":3})") == 3u);
    for (const char* none : {R"({"max_tokens":0})", R"({"max_tokens":2147483648})"})
        BOOST_TEST(!scan(none).value().max_tokens.has_value());
}

BOOST_AUTO_TEST_CASE(leading_text_is_equal_as_long_as_prompts_are) {
    const std::string system = R"({"role":"system","content":")" + std::string(300, 's') + "\"}";
    const auto leading = [&](const char* user) {
        return scan(messages("[" + system + R"(,{"role":"user","content":")" + user + "\"}]")).value().leading;
    };
    BOOST_TEST(leading("a") == leading("b"));
    BOOST_TEST(leading("a").size() == openai::leading_bytes_default);
}

BOOST_AUTO_TEST_CASE(every_way_to_write_a_prompt_leads_alike) {
    const auto leading = [](const std::string& body) { return scan(body).value().leading; };
    BOOST_TEST(leading(messages(R"([{"content":"hi","role":"user"}])")) == "user\nhi\n");
    BOOST_TEST(leading(messages(R"([{"role":"user","content":[{"type":"text","text":"hi"}]}])")) == "user\nhi\n");
    BOOST_TEST(leading(R"({"input":[{"role":"user","content":[{"type":"input_text","text":"hi"}]}]})") == "user\nhi\n");
    BOOST_TEST(leading(messages(R"([{"role":"x","content":"no","content":"h\u0069","role":"user"}])")) == "user\nhi\n");
    BOOST_TEST(leading(R"({"input":"b","instructions":"a"})") == "ab");
    BOOST_TEST(leading(R"({"prompt":"hi"})") == "hi");
    BOOST_TEST(leading(R"({"prompt":["a","b"]})") == "ab");
    BOOST_TEST(leading(R"({"prompt":[1,22]})") == "1 22 ");
    BOOST_TEST(leading(R"({"prompt":[12,2]})") == "12 2 ");
    BOOST_TEST(leading(R"({"prompt":[[12],[2.5,3]]})") == "12 3 ");
}

BOOST_AUTO_TEST_CASE(the_estimate_grows_with_the_text) {
    const auto estimate = [](const std::string& body) { return scan(body).value().prompt_tokens_estimate; };
    BOOST_TEST(estimate(R"({"model":"m","prompt":")" + std::string(4000, 'x') + "\"}") == 1000u);
    BOOST_TEST(estimate(R"({"model":"m","prompt":[1,2,3]})") == 3u);
    BOOST_TEST(estimate(messages(R"([{"role":"user","content":"abcd"},{"role":"user","content":"abcd"}])")) == 10u);
    // Neither an image nor the names of members are text.
    const std::string image = R"({"type":"image_url","image_url":{"url":"data:)" + std::string(4000, 'A') + "\"}}";
    BOOST_TEST(estimate(messages(R"([{"role":"user","content":[)" + image + R"(,{"type":"text","text":"abcd"}]}])")) ==
               5u);
}

BOOST_AUTO_TEST_SUITE_END()
