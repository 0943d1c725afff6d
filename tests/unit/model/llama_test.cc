#include "model/llama.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>

#include "engine/batch_replica.h"
#include "tiny_llama.h"

using namespace exa::model;
using namespace exa::model::test;
using exa::engine::PageId;
using exa::engine::Slice;
using exa::engine::TokenId;

namespace {

const std::vector<TokenId> prompt{5, 17, 3, 99, 42, 8, 120, 61, 7, 7, 14, 33, 90, 2, 18, 77, 54, 21, 6, 110};

bool same_bits(std::span<const float> a, std::span<const float> b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

// The model by its definition: whole-sequence matrices in double, no cache, no pages (F32 weights only).
class Reference {
  public:
    explicit Reference(const Weights& weights) : weights_(weights), shape_(weights.shape()) {}

    std::vector<double> logits(const std::vector<TokenId>& tokens) const {
        std::vector<std::vector<double>> x;
        for (const TokenId token : tokens) {
            std::vector<float> row(shape_.d);
            weights_.embed(token, row.data());
            x.emplace_back(row.begin(), row.end());
        }
        for (const LlamaLayer& layer : weights_.layers()) {
            attention(layer, x);
            for (auto& row : x) {
                const auto in = norm(row, layer.ff_norm);
                auto gate = multiply(layer.gate, in);
                const auto up = multiply(layer.up, in);
                for (std::size_t i = 0; i < gate.size(); ++i) gate[i] = gate[i] / (1 + std::exp(-gate[i])) * up[i];
                add(row, multiply(layer.down, gate));
            }
        }
        return multiply(weights_.output(), norm(x.back(), weights_.output_norm()));
    }

  private:
    using Row = std::vector<double>;

    static void add(Row& x, const Row& y) {
        for (std::size_t i = 0; i < x.size(); ++i) x[i] += y[i];
    }

    Row norm(const Row& x, const std::vector<float>& weight) const {
        double squares = 0;
        for (const double value : x) squares += value * value;
        const double scale =
            1 / std::sqrt(squares / static_cast<double>(x.size()) + static_cast<double>(shape_.norm_epsilon));
        Row y = x;
        for (std::size_t i = 0; i < y.size(); ++i) y[i] *= scale * static_cast<double>(weight[i]);
        return y;
    }

    static Row multiply(const Linear& linear, const Row& x) {
        Row y;
        for (std::size_t r = 0; r < linear.matrix.rows; ++r) {
            double sum = linear.bias.empty() ? 0 : static_cast<double>(linear.bias[r]);
            for (std::size_t c = 0; c < x.size(); ++c) {
                float weight;
                std::memcpy(&weight, linear.matrix.data + 4 * (r * x.size() + c), sizeof weight);
                sum += static_cast<double>(weight) * x[c];
            }
            y.push_back(sum);
        }
        return y;
    }

    void rotate(Row& heads, std::size_t position) const {
        for (std::size_t at = 0; at < heads.size(); at += shape_.head_dim) {
            for (std::size_t i = 0; i < shape_.rope_pairs; ++i) {
                const double angle = static_cast<double>(position) *
                                     std::pow(shape_.rope_base, -2.0 * static_cast<double>(i) / shape_.head_dim);
                double& a = heads[at + 2 * i];
                double& b = heads[at + 2 * i + 1];
                const double turned = a * std::cos(angle) - b * std::sin(angle);
                b = a * std::sin(angle) + b * std::cos(angle);
                a = turned;
            }
        }
    }

    void attention(const LlamaLayer& layer, std::vector<Row>& x) const {
        std::vector<Row> q, k, v;
        for (std::size_t p = 0; p < x.size(); ++p) {
            const Row in = norm(x[p], layer.attention_norm);
            q.push_back(multiply(layer.q, in));
            k.push_back(multiply(layer.k, in));
            v.push_back(multiply(layer.v, in));
            rotate(q.back(), p);
            rotate(k.back(), p);
        }
        for (std::size_t p = 0; p < x.size(); ++p) {
            Row mixed(shape_.q_dim(), 0.0);
            for (std::size_t h = 0; h < shape_.heads; ++h) {
                const std::size_t at = h * shape_.head_dim;
                const std::size_t kv_at = h / (shape_.heads / shape_.kv_heads) * shape_.head_dim;
                Row weights;
                double sum = 0;
                for (std::size_t s = 0; s <= p; ++s) {
                    double score = 0;
                    for (std::size_t i = 0; i < shape_.head_dim; ++i) score += q[p][at + i] * k[s][kv_at + i];
                    weights.push_back(std::exp(score / std::sqrt(static_cast<double>(shape_.head_dim))));
                    sum += weights.back();
                }
                for (std::size_t s = 0; s <= p; ++s)
                    for (std::size_t i = 0; i < shape_.head_dim; ++i)
                        mixed[at + i] += weights[s] / sum * v[s][kv_at + i];
            }
            add(x[p], multiply(layer.attention_output, mixed));
        }
    }

    const Weights& weights_;
    const LlamaShape& shape_;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(llama)

BOOST_AUTO_TEST_CASE(logits_equal_those_of_the_definition) {
    TinyModelSpec spec;
    spec.seed = 3;
    const auto weights = tiny_weights(spec);
    const std::vector<double> expected = Reference(*weights).logits(prompt);
    for (const auto* kernels : {&exa::kernels::portable_kernels(), &exa::kernels::best_kernels()}) {
        LlamaModel model(weights, 4, *kernels);
        const std::vector<float> found = one_shot(model, prompt, page_run(0, prompt.size()));
        double worst = 0;
        double spread = 0;
        for (std::size_t i = 0; i < found.size(); ++i) {
            worst = std::max(worst, std::fabs(static_cast<double>(found[i]) - expected[i]));
            spread = std::max(spread, std::fabs(expected[i]));
        }
        // Keys and values are kept in 11 bits; everything else is single precision.
        BOOST_TEST(worst < 2e-3 * spread, kernels->family << ": off by " << worst << " of " << spread);
    }
}

BOOST_AUTO_TEST_CASE(every_type_of_weights_stays_near_the_f32_model) {
    TinyModelSpec spec;
    spec.seed = 4;
    LlamaModel exact(tiny_weights(spec), 4);
    const std::vector<float> expected = one_shot(exact, prompt, page_run(0, prompt.size()));
    const auto [low, high] = std::ranges::minmax(expected);
    const std::pair<TensorType, float> bounds[] = {
        {TensorType::f16, 0.01F}, {TensorType::bf16, 0.05F}, {TensorType::q8_0, 0.05F}, {TensorType::q5_1, 0.3F},
        {TensorType::q5_0, 0.3F}, {TensorType::q4_1, 0.5F},  {TensorType::q4_0, 0.5F}};
    for (const auto& [type, bound] : bounds) {
        spec.type = type;
        LlamaModel model(tiny_weights(spec), 4);
        const std::vector<float> found = one_shot(model, prompt, page_run(0, prompt.size()));
        float squares = 0;
        for (std::size_t i = 0; i < found.size(); ++i) squares += (found[i] - expected[i]) * (found[i] - expected[i]);
        const float off = std::sqrt(squares / static_cast<float>(found.size()));
        BOOST_TEST(off < bound * (high - low) / 4, to_string(type) << ": off by " << off);
    }
}

BOOST_AUTO_TEST_CASE(every_earlier_token_counts) {
    LlamaModel model(tiny_weights({}), 4);
    const auto pages = page_run(0, prompt.size());
    const std::vector<float> original = one_shot(model, prompt, pages);
    for (std::size_t i = 0; i < prompt.size(); ++i) {
        std::vector<TokenId> changed = prompt;
        changed[i] = 1;
        BOOST_TEST(!same_bits(one_shot(model, changed, pages), original), "token " << i);
    }
    std::vector<TokenId> swapped = prompt;
    std::swap(swapped[2], swapped[3]);
    BOOST_TEST(!same_bits(one_shot(model, swapped, pages), original));
}

BOOST_AUTO_TEST_CASE(replicas_of_one_copy_of_the_weights_agree_bit_by_bit) {
    TinyModelSpec spec;
    spec.type = TensorType::q4_1;
    const auto weights = tiny_weights(spec);
    LlamaModel one(weights, 4);
    LlamaModel other(weights, 4);
    BOOST_TEST(same_bits(one_shot(one, prompt, page_run(0, 20)), one_shot(other, prompt, page_run(2, 20))));
    BOOST_TEST(one.numerics() == other.numerics());
}

BOOST_AUTO_TEST_CASE(numerics_name_the_file_and_the_kernel_family) {
    TinyModelSpec spec;
    const auto weights = tiny_weights(spec);
    spec.seed = 2;
    const LlamaModel other_file(tiny_weights(spec), 1);
    const LlamaModel portable(weights, 1, exa::kernels::portable_kernels());
    BOOST_TEST(portable.numerics() == weights->digest() + "/cpu-portable-1");
    BOOST_TEST(portable.numerics().substr(0, 32) != other_file.numerics().substr(0, 32));
    BOOST_TEST(weights->digest().size() == 32U);
}

BOOST_AUTO_TEST_CASE(a_slice_without_wanted_logits_still_fills_its_pages) {
    LlamaModel model(tiny_weights({}), 4);
    const auto pages = page_run(0, prompt.size());
    const std::vector<float> expected = one_shot(model, prompt, page_run(2, prompt.size()));
    const Slice head{std::span(prompt).first(19), 0, pages, false};
    BOOST_TEST(model.forward({&head, 1}, {}).has_value());
    std::vector<float> logits(model.vocab_size());
    const Slice tail{std::span(prompt).subspan(19), 19, pages, true};
    BOOST_TEST(model.forward({&tail, 1}, logits).has_value());
    BOOST_TEST(same_bits(logits, expected));
}

BOOST_AUTO_TEST_CASE(a_page_has_the_bytes_of_its_halves) {
    TinyModelSpec spec;
    spec.layers = 3;
    const auto weights = tiny_weights(spec);
    // K and V, 3 layers, 2 heads of 16, 16 tokens, 2 bytes.
    BOOST_TEST(LlamaModel::page_bytes(weights->shape()) == 2U * 3 * 2 * 16 * 16 * 2);
}

BOOST_AUTO_TEST_CASE(hidden_states_are_those_of_every_token_and_disturb_no_logits) {
    LlamaModel model(tiny_weights({}), 6);
    const std::vector<float> expected = one_shot(model, prompt, page_run(0, prompt.size()));
    BOOST_TEST(model.hidden().empty());
    const auto mate_pages = page_run(2, prompt.size());
    const auto pages = page_run(4, prompt.size());
    const Slice slices[] = {{prompt, 0, pages, false, true}, {prompt, 0, mate_pages, true}};
    std::vector<float> logits(model.vocab_size());
    BOOST_TEST(model.forward(slices, logits).has_value());
    BOOST_TEST(same_bits(logits, expected));
    BOOST_TEST(model.hidden().size() == prompt.size() * model.hidden_size());
    const std::vector<float> together(model.hidden().begin(), model.hidden().end());

    std::vector<float> one_by_one;
    for (std::uint32_t i = 0; i < prompt.size(); ++i) {
        const Slice slice{std::span(prompt).subspan(i, 1), i, pages, false, true};
        BOOST_TEST(model.forward({&slice, 1}, {}).has_value());
        one_by_one.insert(one_by_one.end(), model.hidden().begin(), model.hidden().end());
    }
    BOOST_TEST(same_bits(one_by_one, together));
}

BOOST_AUTO_TEST_SUITE_END()
