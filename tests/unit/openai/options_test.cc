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
    return openai::parse_options(openai::Fields(body.value().get_object(), {}), openai::Endpoint::completions, limits,
                                 features);
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
        {R"(,"repetition_penalty":1.2)", "repetition_penalty", &Features::penalties},
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

BOOST_AUTO_TEST_CASE(every_sampler_is_read) {
    const auto options = parse(R"(,"temperature":0.5,"top_p":0,"top_k":7,"min_p":0.25,"repetition_penalty":1.5,
        "min_tokens":3,"max_tokens":9,"ignore_eos":true,"stop_token_ids":[5,6],"skip_special_tokens":false)",
                               openai::features_all)
                             .value();
    BOOST_TEST(options.temperature == 0.5);
    BOOST_TEST(options.top_p == 0.0);
    BOOST_TEST(options.top_k == 7u);
    BOOST_TEST(options.min_p == 0.25);
    BOOST_TEST(options.repetition_penalty == 1.5);
    BOOST_TEST(options.min_tokens == 3u);
    BOOST_TEST(options.ignore_eos);
    BOOST_TEST(options.stop_token_ids == (std::vector<std::uint32_t>{5, 6}));
    BOOST_TEST(options.shows_special);
}

BOOST_AUTO_TEST_CASE(no_limit_on_candidates_is_0_or_minus_1) {
    for (const char* more : {"", R"(,"top_k":0)", R"(,"top_k":-1)", R"(,"top_k":null)"})
        BOOST_TEST(parse(more, {}).value().top_k == 0u, more);
    BOOST_TEST(error(R"(,"top_k":-2)").code.value() == "invalid_value");
}

BOOST_AUTO_TEST_CASE(an_answer_is_no_shorter_than_it_may_be_long) {
    BOOST_TEST(parse(R"(,"min_tokens":16)", {}).has_value());
    BOOST_TEST(error(R"(,"min_tokens":17)").param.value() == "min_tokens");
    BOOST_TEST(error(R"(,"min_tokens":5,"max_tokens":4)").param.value() == "min_tokens");
}

BOOST_AUTO_TEST_CASE(stop_tokens_are_ids_bounded_in_number) {
    openai::Limits limits;
    limits.stop_token_ids_max = 2;
    BOOST_TEST(parse(R"(,"stop_token_ids":[1,2])", {}, limits).has_value());
    BOOST_TEST(parse(R"(,"stop_token_ids":[1,2,3])", {}, limits).error().param.value() == "stop_token_ids");
    BOOST_TEST(error(R"(,"stop_token_ids":["a"])").param.value() == "stop_token_ids[0]");
    BOOST_TEST(error(R"(,"stop_token_ids":7)").code.value() == "invalid_type");
}

BOOST_AUTO_TEST_CASE(a_truncation_keeps_some_tokens_or_what_fits) {
    const auto truncation = [](const std::string& more) {
        const auto body = openai::parse_object("{" + more + "}", 1024);
        return openai::parse_truncation(openai::Fields(body.value().get_object(), {}));
    };
    BOOST_TEST(!truncation("").value().has_value());
    BOOST_TEST(truncation(R"("truncate_prompt_tokens":-1)").value().value() == -1);
    BOOST_TEST(truncation(R"("truncate_prompt_tokens":5)").value().value() == 5);
    for (const char* more : {R"("truncate_prompt_tokens":0)", R"("truncate_prompt_tokens":-2)"})
        BOOST_TEST(truncation(more).error().code.value() == "invalid_value", more);
}

BOOST_AUTO_TEST_SUITE_END()
