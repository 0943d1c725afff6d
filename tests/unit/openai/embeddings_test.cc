#include "openai/embeddings.h"
#include "support/print.h"

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <boost/test/unit_test.hpp>
#include <limits>

namespace {

namespace openai = exa::openai;
namespace json = boost::json;
using openai::EmbeddingFormat;
using openai::parse_embeddings;

std::string body(const std::string& more) {
    return R"({"model":"m")" + more + "}";
}

}  // namespace

BOOST_AUTO_TEST_SUITE(embeddings)

BOOST_AUTO_TEST_CASE(inputs_are_texts_or_token_ids) {
    using Ids = std::vector<std::uint32_t>;
    BOOST_TEST((parse_embeddings(body(R"(,"input":"a")")).value().inputs) == std::vector<openai::Prompt>{"a"});
    BOOST_TEST(
        (parse_embeddings(body(R"(,"input":["a","b"])")).value().inputs == std::vector<openai::Prompt>{"a", "b"}));
    BOOST_TEST((parse_embeddings(body(R"(,"input":[1,2])")).value().inputs) ==
               (std::vector<openai::Prompt>{Ids{1, 2}}));
    BOOST_TEST((parse_embeddings(body(R"(,"input":[[1],[2]])")).value().inputs) ==
               (std::vector<openai::Prompt>{Ids{1}, Ids{2}}));
}

BOOST_AUTO_TEST_CASE(malformed_requests_name_their_place) {
    const std::pair<const char*, const char*> cases[] = {
        {R"(,"input":"")", "input"},
        {R"(,"input":["a",""])", "input[1]"},
        {R"(,"input":[])", "input"},
        {R"(,"input":[[]])", "input[0]"},
        {R"(,"input":["a",1])", "input[1]"},
        {R"(,"input":{})", "input"},
        {"", "input"},
        {R"(,"input":"a","encoding_format":"int8")", "encoding_format"},
        {R"(,"input":"a","dimensions":0)", "dimensions"},
    };
    for (const auto& [more, param] : cases)
        BOOST_TEST(parse_embeddings(body(more)).error().param.value() == param, more);
    BOOST_TEST(parse_embeddings(R"({"input":"a"})").error().param.value() == "model");
    BOOST_TEST(!parse_embeddings(body(R"(,"input":"a","dimensions":null,"user":"u")")).value().dimensions.has_value());
    BOOST_TEST(parse_embeddings(body(R"(,"input":"a","dimensions":256)")).value().dimensions.value() == 256u);
}

BOOST_AUTO_TEST_CASE(inputs_are_bounded_in_number) {
    openai::Limits limits;
    limits.inputs_max = 1;
    BOOST_TEST(parse_embeddings(body(R"(,"input":["a"])"), limits).has_value());
    BOOST_TEST(parse_embeddings(body(R"(,"input":["a","b"])"), limits).error().param.value() == "input");
}

BOOST_AUTO_TEST_CASE(vectors_come_in_the_order_of_inputs) {
    const std::vector<float> vectors[] = {{0.5F, -1.0F}, {0.1F, 0.0F}};
    const auto answer = json::parse(openai::embeddings_json("m\"", vectors, EmbeddingFormat::numbers, 7));
    BOOST_TEST(answer == (json::value{{"object", "list"},
                                      {"data",
                                       {{{"object", "embedding"}, {"index", 0}, {"embedding", {0.5, -1}}},
                                        {{"object", "embedding"}, {"index", 1}, {"embedding", {0.1, 0}}}}},
                                      {"model", "m\""},
                                      {"usage", {{"prompt_tokens", 7}, {"total_tokens", 7}}}}));
}

BOOST_AUTO_TEST_CASE(base64_holds_the_floats_little_endian) {
    BOOST_TEST((parse_embeddings(body(R"(,"input":"a","encoding_format":"base64")")).value().format) ==
               EmbeddingFormat::base64);
    const std::vector<float> vectors[] = {{1.0F, -2.0F}};
    const auto answer = json::parse(openai::embeddings_json("m", vectors, EmbeddingFormat::base64, 1));
    BOOST_TEST(answer.at("data").at(0).at("embedding") == "AACAPwAAAMA=");
}

BOOST_AUTO_TEST_CASE(a_vector_gone_wrong_is_still_json) {
    const std::vector<float> vectors[] = {{std::numeric_limits<float>::quiet_NaN()}};
    const auto answer = json::parse(openai::embeddings_json("m", vectors, EmbeddingFormat::numbers, 1));
    BOOST_TEST(answer.at("data").at(0).at("embedding").at(0) == 0);
}

BOOST_AUTO_TEST_SUITE_END()
