#include <boost/test/unit_test.hpp>
#include <cstring>
#include <numeric>

#include "test_rows.h"

using namespace exa::kernels;
using namespace exa::kernels::test;

namespace {

// One sequence's KV in pages that are scattered over a pool filled with NaN, as memory may be that was used before.
struct Sequence {
    Sequence(const Kernels& kernels, const AttentionShape& shape, std::size_t tokens, std::uint64_t seed,
             std::vector<std::uint32_t> page_order)
        : pages(std::move(page_order)), pool(8 * shape.layer_halves(), 0x7e00) {
        exa::Rng rng(seed);
        kv = {pool.data(), shape.layer_halves(), pages.data()};
        for (std::size_t p = 0; p < tokens; ++p) {
            k.push_back(random_floats(rng, shape.kv_heads * shape.head_dim, 2));
            v.push_back(random_floats(rng, shape.kv_heads * shape.head_dim, 2));
            kernels.store_kv(shape, k.back().data(), v.back().data(), kv, p);
        }
        q = random_floats(rng, shape.heads * shape.head_dim, 2);
    }
    Sequence(const Sequence&) = delete;
    Sequence& operator=(const Sequence&) = delete;

    std::vector<float> attend(const Kernels& kernels, const AttentionShape& shape, std::size_t position) const {
        std::vector<float> scores(attention_scratch(shape, position));
        std::vector<float> out(shape.heads * shape.head_dim);
        kernels.attend(shape, q.data(), kv, position, scores.data(), out.data());
        return out;
    }

    std::vector<std::uint32_t> pages;
    std::vector<std::uint16_t> pool;
    PagedKv kv;
    std::vector<std::vector<float>> k;
    std::vector<std::vector<float>> v;
    std::vector<float> q;
};

double half_rounded(float value) {
    return static_cast<double>(half_to_float(float_to_half(value)));
}

std::vector<double> expected_attention(const AttentionShape& shape, const Sequence& s, std::size_t position) {
    std::vector<double> out;
    for (std::size_t h = 0; h < shape.heads; ++h) {
        const std::size_t kv_at = h / (shape.heads / shape.kv_heads) * shape.head_dim;
        std::vector<double> weights;
        for (std::size_t p = 0; p <= position; ++p) {
            double score = 0;
            for (std::size_t i = 0; i < shape.head_dim; ++i)
                score += static_cast<double>(s.q[h * shape.head_dim + i]) * half_rounded(s.k[p][kv_at + i]);
            weights.push_back(std::exp(score * static_cast<double>(shape.scale)));
        }
        const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
        for (std::size_t i = 0; i < shape.head_dim; ++i) {
            double value = 0;
            for (std::size_t p = 0; p <= position; ++p) value += weights[p] / sum * half_rounded(s.v[p][kv_at + i]);
            out.push_back(value);
        }
    }
    return out;
}

const std::vector<std::uint32_t> scattered{5, 0, 7, 2};
const std::vector<std::uint32_t> in_order{0, 1, 2, 3};

}  // namespace

BOOST_AUTO_TEST_SUITE(attention)

BOOST_AUTO_TEST_CASE(attention_equals_softmax_of_scaled_scores) {
    const AttentionShape shapes[] = {{9, 3, 64, 0.125F}, {4, 2, 16, 0.25F}, {5, 1, 40, 0.2F}, {2, 2, 8, 0.5F}};
    for (const Kernels* kernels : families()) {
        for (const AttentionShape& shape : shapes) {
            const Sequence s(*kernels, shape, 50, 9, scattered);
            for (const std::size_t position : {0U, 1U, 15U, 16U, 40U, 49U}) {
                const std::vector<float> found = s.attend(*kernels, shape, position);
                const std::vector<double> expected = expected_attention(shape, s, position);
                for (std::size_t i = 0; i < found.size(); ++i)
                    if (!(std::fabs(static_cast<double>(found[i]) - expected[i]) < 2e-5))
                        BOOST_ERROR(kernels->family << " head_dim " << shape.head_dim << " position " << position
                                                    << " at " << i << ": " << found[i] << ", expected " << expected[i]);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(where_pages_lie_changes_no_bit) {
    const AttentionShape shape{9, 3, 64, 0.125F};
    for (const Kernels* kernels : families()) {
        const Sequence a(*kernels, shape, 50, 10, scattered);
        const Sequence b(*kernels, shape, 50, 10, in_order);
        const std::vector<float> first = a.attend(*kernels, shape, 49);
        const std::vector<float> second = b.attend(*kernels, shape, 49);
        BOOST_TEST(std::memcmp(first.data(), second.data(), first.size() * sizeof(float)) == 0, kernels->family);
    }
}

BOOST_AUTO_TEST_CASE(later_tokens_in_the_page_change_no_bit) {
    const AttentionShape shape{4, 2, 32, 0.2F};
    for (const Kernels* kernels : families()) {
        const Sequence shorter(*kernels, shape, 20, 11, scattered);
        Sequence longer(*kernels, shape, 40, 11, scattered);
        longer.q = shorter.q;
        const std::vector<float> first = shorter.attend(*kernels, shape, 19);
        const std::vector<float> second = longer.attend(*kernels, shape, 19);
        BOOST_TEST(std::memcmp(first.data(), second.data(), first.size() * sizeof(float)) == 0, kernels->family);
    }
}

BOOST_AUTO_TEST_CASE(all_families_store_the_same_halves) {
    const AttentionShape shape{4, 2, 24, 0.2F};
    const Sequence a(portable_kernels(), shape, 37, 12, scattered);
    const Sequence b(best_kernels(), shape, 37, 12, scattered);
    BOOST_TEST(a.pool == b.pool);
}

BOOST_AUTO_TEST_SUITE_END()
