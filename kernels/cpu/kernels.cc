#include "kernels/kernels.h"

#include "families.h"

namespace exa::kernels {

std::size_t attention_scratch(const AttentionShape& shape, std::size_t position) {
    return shape.heads / shape.kv_heads * (position / page_tokens + 1) * page_tokens;
}

void rope(float* x, std::size_t heads, std::size_t head_dim, const float* cos, const float* sin, std::size_t pairs,
          bool interleaved) {
    const std::size_t step = interleaved ? 2 : 1;
    const std::size_t partner = interleaved ? 1 : pairs;
    for (std::size_t h = 0; h < heads; ++h) {
        float* head = x + h * head_dim;
        for (std::size_t i = 0; i < pairs; ++i) {
            const float a = head[step * i];
            const float b = head[step * i + partner];
            head[step * i] = a * cos[i] - b * sin[i];
            head[step * i + partner] = a * sin[i] + b * cos[i];
        }
    }
}

const Kernels& best_kernels() {
    return has_avx2() ? avx2_kernels() : portable_kernels();
}

}  // namespace exa::kernels
