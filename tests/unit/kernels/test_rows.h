// What the kernel tests share: the families of this machine and random rows of every format.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/rng.h"
#include "kernels/format.h"
#include "kernels/kernels.h"

namespace exa::kernels::test {

inline std::vector<const Kernels*> families() {
    std::vector<const Kernels*> all{&portable_kernels()};
    if (&best_kernels() != &portable_kernels()) all.push_back(&best_kernels());
    return all;
}

inline constexpr Format all_formats[] = {Format::f32,  Format::f16,  Format::bf16, Format::q4_0,
                                         Format::q4_1, Format::q5_0, Format::q5_1, Format::q8_0,
                                         Format::q4_k, Format::q5_k, Format::q6_k};

inline float random_float(Rng& rng, double magnitude = 1) {
    return static_cast<float>((2 * rng.unit() - 1) * magnitude);
}

inline std::vector<float> random_floats(Rng& rng, std::size_t count, double magnitude = 1) {
    std::vector<float> values(count);
    for (float& value : values) value = random_float(rng, magnitude);
    return values;
}

// Random bits wherever the format has integers; scales and floats between 0.01 and 1.
inline std::vector<std::uint8_t> random_rows(Rng& rng, Format format, std::size_t rows, std::size_t cols) {
    std::vector<std::uint8_t> bytes(rows * row_bytes(format, cols));
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(rng.below(256));
    const FormatInfo& info = *format_info(format);
    const auto set_half = [&](std::size_t at) {
        const std::uint16_t half = float_to_half(static_cast<float>(0.01 + 0.99 * rng.unit()));
        std::memcpy(&bytes[at], &half, sizeof half);
    };
    for (std::size_t at = 0; at < bytes.size(); at += info.block_bytes) {
        const float value = random_float(rng);
        switch (format) {
            case Format::f32:
                std::memcpy(&bytes[at], &value, sizeof value);
                break;
            case Format::f16:
                set_half(at);
                break;
            case Format::bf16:
                std::memcpy(&bytes[at], reinterpret_cast<const char*>(&value) + 2, 2);
                break;
            case Format::q4_0:
            case Format::q5_0:
            case Format::q8_0:
                set_half(at);
                break;
            case Format::q4_1:
            case Format::q5_1:
            case Format::q4_k:
            case Format::q5_k:
                set_half(at);
                set_half(at + 2);
                break;
            case Format::q6_k:
                set_half(at + 208);
                break;
        }
    }
    return bytes;
}

// A matrix of random weights with the memory it points to.
struct OwnedMatrix {
    OwnedMatrix(Rng& rng, Format format, std::size_t rows, std::size_t cols)
        : source(random_rows(rng, format, rows, cols)), packed(packed_bytes(format, rows, cols)) {
        matrix = {layout_of(format), rows, cols, source.data()};
        if (packed.empty()) return;
        pack(format, source.data(), rows, cols, packed.data());
        matrix.data = packed.data();
    }
    OwnedMatrix(const OwnedMatrix&) = delete;
    OwnedMatrix& operator=(const OwnedMatrix&) = delete;

    std::vector<std::uint8_t> source;
    std::vector<std::uint8_t> packed;
    Matrix matrix;
};

// Activations with their buffers; the floats are the caller's.
struct OwnedActivations {
    OwnedActivations(const Kernels& kernels, const std::vector<float>& x, std::size_t tokens, std::size_t cols)
        : high(x.size()), low(x.size()), scale(x.size() / block_cols + 1), sum(x.size() / block_cols + 1) {
        view = {x.data(), high.data(), low.data(), scale.data(), sum.data()};
        if (cols % block_cols == 0) kernels.quantize(view, tokens, cols);
    }
    OwnedActivations(const OwnedActivations&) = delete;
    OwnedActivations& operator=(const OwnedActivations&) = delete;

    std::vector<std::int8_t> high;
    std::vector<std::int8_t> low;
    std::vector<float> scale;
    std::vector<float> sum;
    Activations view;
};

}  // namespace exa::kernels::test
