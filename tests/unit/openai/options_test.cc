#include "openai/options.h"

#include <boost/test/unit_test.hpp>

#include "openai/json.h"
#include "support/print.h"

namespace {

namespace openai = exa::openai;
using openai::Features;

openai::ApiResult<openai::Options> parse(const std::string& more, const Features& features,
                                         const openai::Limits& limits = {}) {
    const auto body = openai::parse_object(R"({"model":"m")" + more + "}", limits.body_bytes_max);
    return openai::parse_options(openai::Fields(body.value().get_object(), {}), limits, features);
}

openai::ApiError error(const std::string& more, const Features& features = openai::features_all) {
    const auto parsed = parse(more, features);
    BOOST_TEST_REQUIRE(!parsed.has_value(), more);
    return parsed.error();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(options)

BOOST_AUTO_TEST_CASE(each_feature_opens_its_own_fields) {
    struct Case {
        const char* more;
        const char* param;
        bool Features::* feature;
    };
    const Case cases[] = {
        {R"(,"n":2)", "n", &Features::choices},
        {R"(,"presence_penalty":0.5)", "presence_penalty", &Features::penalties},
        {R"(,"frequency_penalty":-2)", "frequency_penalty", &Features::penalties},
        {R"(,"logit_bias":{"5":1})", "logit_bias", &Features::logit_bias},
    };
    for (const Case& one : cases) {
        Features features = openai::features_all;
        features.*one.feature = false;
        BOOST_TEST(error(one.more, features).code.value() == "unsupported_parameter", one.more);
        BOOST_TEST(error(one.more, features).param.value() == one.param, one.more);
        features = Features();
        features.*one.feature = true;
        BOOST_TEST(parse(one.more, features).has_value(), one.more);
    }
}

BOOST_AUTO_TEST_CASE(what_a_feature_opens_is_read) {
    const auto options =
        parse(R"(,"n":3,"best_of":3,"presence_penalty":2,"frequency_penalty":-0.5)", openai::features_all).value();
    BOOST_TEST(options.n == 3u);
    BOOST_TEST(options.presence_penalty == 2.0);
    BOOST_TEST(options.frequency_penalty == -0.5);
    BOOST_TEST(!options.logprobs.has_value());
}

BOOST_AUTO_TEST_CASE(biases_come_by_token_id_each_once) {
    using Biases = std::vector<std::pair<std::uint32_t, double>>;
    const auto options = parse(R"(,"logit_bias":{"50256":-100,"7":1.5,"10":100,"7":2})", openai::features_all).value();
    BOOST_TEST(options.logit_bias == (Biases{{7, 2.0}, {10, 100.0}, {50256, -100.0}}));
}

BOOST_AUTO_TEST_CASE(biases_are_token_ids_with_numbers_in_range) {
    for (const char* more :
         {R"(,"logit_bias":{"a":1})", R"(,"logit_bias":{"":1})", R"(,"logit_bias":{"-1":1})",
          R"(,"logit_bias":{"07":1})", R"(,"logit_bias":{"4294967296":1})", R"(,"logit_bias":{" 5":1})"})
        BOOST_TEST(error(more).param.value() == "logit_bias", more);
    BOOST_TEST(error(R"(,"logit_bias":{"5":100.5})").param.value() == "logit_bias.5");
    BOOST_TEST(error(R"(,"logit_bias":{"5":"1"})").code.value() == "invalid_type");
    BOOST_TEST(error(R"(,"logit_bias":[5])").code.value() == "invalid_type");
}

BOOST_AUTO_TEST_CASE(biases_are_bounded_in_number) {
    openai::Limits limits;
    limits.logit_bias_max = 2;
    BOOST_TEST(parse(R"(,"logit_bias":{"1":1,"2":1})", openai::features_all, limits).has_value());
    BOOST_TEST(parse(R"(,"logit_bias":{"1":1,"2":1,"3":1})", openai::features_all, limits).error().param.value() ==
               "logit_bias");
}

BOOST_AUTO_TEST_CASE(choices_are_bounded) {
    BOOST_TEST(parse(R"(,"n":128)", openai::features_all).value().n == 128u);
    BOOST_TEST(error(R"(,"n":129)").code.value() == "invalid_value");
    BOOST_TEST(error(R"(,"n":129)", {}).code.value() == "invalid_value");
    BOOST_TEST(error(R"(,"n":0)").code.value() == "invalid_value");
}

BOOST_AUTO_TEST_CASE(best_of_may_only_equal_n) {
    BOOST_TEST(parse(R"(,"n":2,"best_of":2)", openai::features_all).has_value());
    BOOST_TEST(parse(R"(,"best_of":1)", {}).has_value());
    BOOST_TEST(error(R"(,"n":2,"best_of":3)").code.value() == "unsupported_parameter");
    BOOST_TEST(error(R"(,"n":2,"best_of":1)").code.value() == "invalid_value");
}

BOOST_AUTO_TEST_CASE(penalties_out_of_range_are_refused_before_the_engine_is_asked) {
    for (const Features& features : {Features{}, openai::features_all})
        for (const char* more : {R"(,"presence_penalty":2.1)", R"(,"frequency_penalty":-2.1)"})
            BOOST_TEST(error(more, features).code.value() == "invalid_value", more);
}

BOOST_AUTO_TEST_SUITE_END()
