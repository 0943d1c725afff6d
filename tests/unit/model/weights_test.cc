#include "model/weights.h"

#include <boost/test/unit_test.hpp>
#include <limits>
#include <string>
#include <vector>

#include "base/rng.h"
#include "model/errc.h"
#include "model/gguf_writer.h"
#include "support/print.h"
#include "tiny_llama.h"

using namespace exa::model;
using exa::Bytes;

namespace {

struct Spec {
    std::uint32_t d = 32;
    std::uint32_t kv_dim = 16;
    std::uint32_t ff = 64;
    std::uint32_t vocab = 40;
    std::string leave_out;
    std::string reshape;  // this tensor gets one row more
    bool biases = false;
    bool rope_factors = false;
    std::string not_finite;  // this tensor's last value is bad_value
    float bad_value = std::numeric_limits<float>::quiet_NaN();
    std::string extra;  // a tensor of d values
    std::string flat;   // this tensor gets a dimension of 1 more
    std::string architecture = "llama";
};

Bytes make_file(const Spec& spec) {
    GgufWriter writer;
    const std::string prefix = spec.architecture + ".";
    writer.set_string("general.architecture", spec.architecture);
    writer.set_uint(prefix + "block_count", 1);
    writer.set_uint(prefix + "embedding_length", spec.d);
    writer.set_uint(prefix + "feed_forward_length", spec.ff);
    writer.set_uint(prefix + "context_length", 64);
    writer.set_uint(prefix + "attention.head_count", 4);
    writer.set_uint(prefix + "attention.head_count_kv", 2);
    exa::Rng rng(1);
    const auto add = [&](const std::string& name, std::vector<std::uint64_t> shape) {
        if (name == spec.leave_out) return;
        if (name == spec.reshape) ++shape.back();
        std::uint64_t count = 1;
        for (const std::uint64_t size : shape) count *= size;
        std::vector<float> values(count);
        for (float& value : values) value = static_cast<float>(rng.unit() - 0.5);
        if (name == spec.not_finite) values.back() = spec.bad_value;
        if (name == spec.flat) shape.push_back(1);
        writer.add_tensor(name, TensorType::f32, std::move(shape), values);
    };
    add("token_embd.weight", {spec.d, spec.vocab});
    add("output_norm.weight", {spec.d});
    if (spec.rope_factors) add("rope_freqs.weight", {4});
    add("blk.0.attn_norm.weight", {spec.d});
    add("blk.0.attn_q.weight", {spec.d, spec.d});
    add("blk.0.attn_k.weight", {spec.d, spec.kv_dim});
    add("blk.0.attn_v.weight", {spec.d, spec.kv_dim});
    if (spec.biases) {
        add("blk.0.attn_q.bias", {spec.d});
        add("blk.0.attn_k.bias", {spec.kv_dim});
        add("blk.0.attn_v.bias", {spec.kv_dim});
    }
    add("blk.0.attn_output.weight", {spec.d, spec.d});
    add("blk.0.ffn_norm.weight", {spec.d});
    add("blk.0.ffn_gate.weight", {spec.d, spec.ff});
    add("blk.0.ffn_up.weight", {spec.d, spec.ff});
    add("blk.0.ffn_down.weight", {spec.ff, spec.d});
    if (!spec.extra.empty()) add(spec.extra, {spec.d});
    return writer.finish();
}

exa::Result<std::shared_ptr<const Weights>> load(const Spec& spec) {
    const auto file = std::make_shared<const Bytes>(make_file(spec));
    const auto gguf = Gguf::parse(*file);
    BOOST_TEST_REQUIRE(gguf.has_value());
    return Weights::load(gguf.value(), *file, file);
}

const char* const tensors[] = {"token_embd.weight",     "output_norm.weight",       "blk.0.attn_norm.weight",
                               "blk.0.attn_q.weight",   "blk.0.attn_k.weight",      "blk.0.attn_v.weight",
                               "blk.0.ffn_norm.weight", "blk.0.attn_output.weight", "blk.0.ffn_gate.weight",
                               "blk.0.ffn_up.weight",   "blk.0.ffn_down.weight"};

}  // namespace

BOOST_AUTO_TEST_SUITE(weights)

BOOST_AUTO_TEST_CASE(a_complete_file_loads) {
    const auto loaded = load({});
    BOOST_TEST_REQUIRE(loaded.has_value());
    BOOST_TEST(loaded.value()->layers().size() == 1U);
    BOOST_TEST(loaded.value()->output().matrix.rows == 40U);
    BOOST_TEST(loaded.value()->layers()[0].down.matrix.cols == 64U);
    BOOST_TEST(loaded.value()->layers()[0].q.bias.empty());
}

BOOST_AUTO_TEST_CASE(a_missing_tensor_is_named) {
    for (const char* name : tensors) {
        Spec spec;
        spec.leave_out = name;
        const auto loaded = load(spec);
        BOOST_TEST_REQUIRE(!loaded.has_value(), name);
        BOOST_TEST(loaded.error().code == errc::tensor_missing, name);
        BOOST_TEST(loaded.error().detail.find(name) != std::string::npos, loaded.error().detail);
    }
}

BOOST_AUTO_TEST_CASE(a_wrong_shape_is_named_with_both_shapes) {
    for (const char* name : tensors) {
        if (std::string(name) == "token_embd.weight") continue;  // its rows are the vocabulary
        Spec spec;
        spec.reshape = name;
        const auto loaded = load(spec);
        BOOST_TEST_REQUIRE(!loaded.has_value(), name);
        BOOST_TEST(loaded.error().code == errc::tensor_mismatch, name);
        BOOST_TEST(loaded.error().detail.find(name) != std::string::npos, loaded.error().detail);
    }
    Spec spec;
    spec.reshape = "blk.0.ffn_down.weight";
    BOOST_TEST(load(spec).error().detail == "'blk.0.ffn_down.weight' expected [64, 32], found [64, 33]");
}

BOOST_AUTO_TEST_CASE(weights_that_are_no_numbers_are_named) {
    for (const char* name : tensors)
        for (const float bad : {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
            Spec spec;
            spec.not_finite = name;
            spec.bad_value = bad;
            const auto loaded = load(spec);
            BOOST_TEST_REQUIRE(!loaded.has_value(), name);
            BOOST_TEST(loaded.error().code == errc::tensor_mismatch, name);
            BOOST_TEST(loaded.error().detail == "'" + std::string(name) + "' has values that are no finite numbers");
        }
}

BOOST_AUTO_TEST_CASE(a_tensor_the_forward_pass_leaves_out_is_named) {
    for (const char* name : {"blk.0.attn_q_norm.weight", "output.bias", "blk.1.attn_norm.weight"}) {
        Spec spec;
        spec.extra = name;
        const auto loaded = load(spec);
        BOOST_TEST_REQUIRE(!loaded.has_value(), name);
        BOOST_TEST(loaded.error().code == errc::architecture_unsupported, name);
        BOOST_TEST(loaded.error().detail.find(name) != std::string::npos, loaded.error().detail);
    }
}

BOOST_AUTO_TEST_CASE(a_trailing_dimension_of_1_is_none) {
    Spec spec;
    spec.flat = "blk.0.attn_norm.weight";
    BOOST_TEST(load(spec).has_value());
}

BOOST_AUTO_TEST_CASE(qwen2_biases_are_read_and_used) {
    Spec spec;
    spec.architecture = "qwen2";
    const auto plain = load(spec);
    spec.biases = true;
    const auto biased = load(spec);
    BOOST_TEST_REQUIRE(plain.has_value());
    BOOST_TEST_REQUIRE(biased.has_value());
    BOOST_TEST(biased.value()->layers()[0].k.bias.size() == 16U);
    LlamaModel without(plain.value(), 1);
    LlamaModel with(biased.value(), 1);
    BOOST_TEST(test::one_shot(without, {1, 2, 3}, {0}) != test::one_shot(with, {1, 2, 3}, {0}));
}

BOOST_AUTO_TEST_CASE(rope_factors_divide_the_steps) {
    Spec spec;
    const auto plain = load(spec);
    spec.rope_factors = true;
    const auto scaled = load(spec);
    BOOST_TEST_REQUIRE(scaled.has_value());
    BOOST_TEST(plain.value()->rope_steps()[0] == 1.0);
    BOOST_TEST(plain.value()->rope_steps()[2] == 0.01, boost::test_tools::tolerance(1e-12));
    BOOST_TEST(scaled.value()->rope_steps()[2] != plain.value()->rope_steps()[2]);
}

BOOST_AUTO_TEST_CASE(the_digest_is_of_every_byte) {
    const auto file = std::make_shared<Bytes>(make_file({}));
    const auto digest = [&] {
        const auto gguf = Gguf::parse(*file);
        return Weights::load(gguf.value(), *file, file).value()->digest();
    };
    const std::string before = digest();
    BOOST_TEST(digest() == before);
    file->back() ^= 1;
    BOOST_TEST(digest() != before);
}

BOOST_AUTO_TEST_SUITE_END()
