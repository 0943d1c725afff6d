#include "model/llama_shape.h"

#include <boost/test/unit_test.hpp>
#include <map>
#include <vector>

#include "model/errc.h"
#include "model/gguf_writer.h"
#include "support/print.h"

using namespace exa::model;

namespace {

using Numbers = std::map<std::string, std::uint32_t>;

const Numbers complete{{"block_count", 2},          {"embedding_length", 64},    {"feed_forward_length", 128},
                       {"context_length", 256},     {"attention.head_count", 4}, {"attention.head_count_kv", 2},
                       {"rope.dimension_count", 16}};

struct File {
    Numbers numbers = complete;
    std::string architecture = "llama";
    std::string scaling;
    float epsilon = 1e-5F;
    bool embedding = true;
    std::map<std::string, std::vector<std::int32_t>> lists{};  // for each layer, instead of a number
    std::uint32_t tokens = 0;                                  // of the vocabulary, if the file has one

    exa::Result<LlamaShape> read() const {
        GgufWriter writer;
        writer.set_string("general.architecture", architecture);
        for (const auto& [key, value] : numbers)
            if (!lists.contains(key)) writer.set_uint(architecture + "." + key, value);
        for (const auto& [key, values] : lists) writer.set_ints(architecture + "." + key, values);
        if (tokens > 0) writer.set_strings("tokenizer.ggml.tokens", std::vector<std::string>(tokens));
        writer.set_float(architecture + ".attention.layer_norm_rms_epsilon", epsilon);
        if (!scaling.empty()) {
            writer.set_string(architecture + ".rope.scaling.type", scaling);
            writer.set_float(architecture + ".rope.scaling.factor", 4);
        }
        if (embedding) writer.add_tensor("token_embd.weight", TensorType::f32, {64, 3}, std::vector<float>(192));
        const exa::Bytes bytes = writer.finish();
        const auto gguf = Gguf::parse(bytes);
        BOOST_TEST_REQUIRE(gguf.has_value());
        return read_llama_shape(gguf.value());
    }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(llama_shape)

BOOST_AUTO_TEST_CASE(dimensions_come_from_the_metadata) {
    const auto shape = File{}.read();
    BOOST_TEST_REQUIRE(shape.has_value());
    BOOST_TEST(shape.value().head_dim == 16U);
    BOOST_TEST(shape.value().q_dim() == 64U);
    BOOST_TEST(shape.value().kv_dim() == 32U);
    BOOST_TEST(shape.value().rope_pairs == 8U);
    BOOST_TEST(shape.value().vocab == 3U);
    BOOST_TEST(shape.value().rope_base == 10'000.0);
    BOOST_TEST(shape.value().rope_interleaved);
}

BOOST_AUTO_TEST_CASE(a_missing_or_senseless_dimension_is_named) {
    for (const char* key :
         {"block_count", "embedding_length", "feed_forward_length", "context_length", "attention.head_count"}) {
        for (const bool absent : {true, false}) {
            File file;
            file.numbers[key] = 0;
            if (absent) file.numbers.erase(key);
            const auto shape = file.read();
            BOOST_TEST_REQUIRE(!shape.has_value(), key);
            BOOST_TEST(shape.error().code == errc::metadata_missing, key);
            BOOST_TEST(shape.error().detail.find(key) != std::string::npos, shape.error().detail);
        }
    }
    for (const auto& [key, value] : Numbers{{"block_count", 0xffffffff},
                                            {"attention.head_count", 0xffffffff},
                                            {"attention.head_count_kv", 3},
                                            {"attention.head_count_kv", 8},
                                            {"rope.dimension_count", 32}}) {
        File file;
        file.numbers[key] = value;
        BOOST_TEST(!file.read().has_value(), key);
    }
}

BOOST_AUTO_TEST_CASE(a_number_for_each_layer_is_one_number_or_another_engines) {
    File file;
    file.lists["attention.head_count_kv"] = {2, 2};
    BOOST_TEST(file.read().value().kv_heads == 2U);
    file.lists["attention.head_count_kv"] = {2, 4};
    const auto refused = file.read();
    BOOST_TEST_REQUIRE(!refused.has_value());
    BOOST_TEST(refused.error().code == errc::architecture_unsupported);
    BOOST_TEST(refused.error().detail.find("head_count_kv differs from layer to layer") != std::string::npos);
    BOOST_TEST(refused.error().detail.find("docs/attach.md") != std::string::npos);
    for (const std::vector<std::int32_t>& bad : {std::vector<std::int32_t>{}, {-1, -1}}) {
        file.lists["attention.head_count_kv"] = bad;
        BOOST_TEST(file.read().error().code == errc::metadata_missing);
    }
}

BOOST_AUTO_TEST_CASE(a_vocabulary_is_as_large_as_the_embedding) {
    File file;
    file.tokens = 3;
    BOOST_TEST(file.read().has_value());
    for (const std::uint32_t tokens : {2U, 4U}) {
        file.tokens = tokens;
        BOOST_TEST(file.read().error().code == errc::tensor_mismatch);
        BOOST_TEST(file.read().error().detail ==
                   "token_embd.weight has 3 rows for a vocabulary of " + std::to_string(tokens) + " tokens");
    }
}

BOOST_AUTO_TEST_CASE(a_context_holds_a_prompt_and_an_answer) {
    File file;
    file.numbers["context_length"] = 1;
    BOOST_TEST(file.read().error().detail.find("context_length = 1, 2 ..") != std::string::npos);
    file.numbers["context_length"] = 2;
    BOOST_TEST(file.read().has_value());
}

BOOST_AUTO_TEST_CASE(a_mixture_of_experts_is_another_engines) {
    File file;
    file.numbers["expert_count"] = 8;
    BOOST_TEST(file.read().error().detail.find("mixture of experts") != std::string::npos);
    file.numbers["expert_count"] = 0;
    BOOST_TEST(file.read().has_value());
}

BOOST_AUTO_TEST_CASE(other_families_and_scalings_are_refused) {
    File file;
    file.architecture = "mamba";
    BOOST_TEST(file.read().error().code == errc::architecture_unsupported);
    file = {};
    file.scaling = "yarn";
    BOOST_TEST(file.read().error().code == errc::architecture_unsupported);
    file = {};
    file.numbers["attention.key_length"] = 12;
    file.numbers["rope.dimension_count"] = 12;
    BOOST_TEST(file.read().error().code == errc::architecture_unsupported);
    file = {};
    file.embedding = false;
    BOOST_TEST(file.read().error().code == errc::tensor_missing);
    file = {};
    file.epsilon = -1;
    BOOST_TEST(file.read().error().code == errc::metadata_missing);
}

BOOST_AUTO_TEST_CASE(linear_scaling_divides_positions_and_qwen2_turns_halves) {
    File file;
    file.scaling = "linear";
    BOOST_TEST(file.read().value().rope_scale == 4.0);
    file = {};
    file.architecture = "qwen2";
    BOOST_TEST(!file.read().value().rope_interleaved);
}

BOOST_AUTO_TEST_SUITE_END()
