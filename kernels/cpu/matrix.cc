#include "kernels/matrix.h"

#include <cstring>

#include "families.h"
#include "k_blocks.h"

namespace exa::kernels {

namespace {

// 32 weights of one row on their way into a tile: w = d[i / 16] * q[i] + m.
struct Run {
    float d[2] = {0, 0};
    float m = 0;
    std::int8_t q[block_cols] = {};
};

float load_half(const std::uint8_t* bytes) {
    return half_to_float(static_cast<std::uint16_t>(bytes[0] | bytes[1] << 8));
}

void set_scale(Run& run, float d, float m) {
    run.d[0] = run.d[1] = d;
    run.m = m;
}

void unpack_nibbles(const std::uint8_t* nibbles, Run& run) {
    for (int i = 0; i < 16; ++i) {
        run.q[i] = static_cast<std::int8_t>(nibbles[i] & 15);
        run.q[16 + i] = static_cast<std::int8_t>(nibbles[i] >> 4);
    }
}

void unpack_q5(const std::uint8_t* high, const std::uint8_t* nibbles, int bias, Run& run) {
    std::uint32_t bits;
    std::memcpy(&bits, high, sizeof bits);
    for (int i = 0; i < 32; ++i) {
        const int low = i < 16 ? nibbles[i] & 15 : nibbles[i - 16] >> 4;
        run.q[i] = static_cast<std::int8_t>((low | static_cast<int>(bits >> i & 1U) << 4) - bias);
    }
}

void unpack_k(Format format, const std::uint8_t* block, int sub, Run& run) {
    const auto [scale, min] = k_scale(block + 4, sub);
    set_scale(run, load_half(block) * static_cast<float>(scale), -load_half(block + 2) * static_cast<float>(min));
    const bool five = format == Format::q5_k;
    const std::uint8_t* nibbles = block + (five ? 48 : 16) + 32 * (sub / 2);
    for (int i = 0; i < 32; ++i) {
        const int low = sub % 2 == 0 ? nibbles[i] & 15 : nibbles[i] >> 4;
        const int high = five ? (block[16 + i] >> sub & 1) << 4 : 0;
        run.q[i] = static_cast<std::int8_t>(low | high);
    }
}

void unpack_q6_k(const std::uint8_t* block, int sub, Run& run) {
    const int half = sub / 4;
    const int quarter = sub % 4;
    const std::uint8_t* low = block + 64 * half + 32 * (quarter % 2);
    const std::uint8_t* high = block + 128 + 32 * half;
    const float d = load_half(block + 208);
    for (int i = 0; i < 2; ++i) run.d[i] = d * static_cast<float>(static_cast<std::int8_t>(block[192 + 2 * sub + i]));
    for (int i = 0; i < 32; ++i) {
        const int nibble = quarter < 2 ? low[i] & 15 : low[i] >> 4;
        run.q[i] = static_cast<std::int8_t>((nibble | (high[i] >> (2 * quarter) & 3) << 4) - 32);
    }
}

// Columns 32 * index .. 32 * index + 31 of a row. `m` of Q4_0 carries its offset of 8, so that q stays unsigned.
Run unpack(Format format, const std::uint8_t* row, std::size_t index) {
    Run run;
    const FormatInfo& info = *format_info(format);
    const std::size_t per_block = info.block_weights / block_cols;
    const std::uint8_t* block = row + index / per_block * info.block_bytes;
    const int sub = static_cast<int>(index % per_block);
    switch (format) {
        case Format::q4_0:
            set_scale(run, load_half(block), -8.0F * load_half(block));
            unpack_nibbles(block + 2, run);
            break;
        case Format::q4_1:
            set_scale(run, load_half(block), load_half(block + 2));
            unpack_nibbles(block + 4, run);
            break;
        case Format::q5_0:
            set_scale(run, load_half(block), 0);
            unpack_q5(block + 2, block + 6, 16, run);
            break;
        case Format::q5_1:
            set_scale(run, load_half(block), load_half(block + 2));
            unpack_q5(block + 4, block + 8, 0, run);
            break;
        case Format::q8_0:
            set_scale(run, load_half(block), 0);
            std::memcpy(run.q, block + 2, sizeof run.q);
            break;
        case Format::q4_k:
        case Format::q5_k:
            unpack_k(format, block, sub, run);
            break;
        case Format::q6_k:
            unpack_q6_k(block, sub, run);
            break;
        case Format::f32:
        case Format::f16:
        case Format::bf16:
            break;
    }
    return run;
}

void store_half(std::uint8_t* out, float value) {
    const std::uint16_t half = float_to_half(value);
    out[0] = static_cast<std::uint8_t>(half);
    out[1] = static_cast<std::uint8_t>(half >> 8);
}

void store_float(std::uint8_t* out, float value) {
    std::memcpy(out, &value, sizeof value);
}

// Row `row` of 8 into one block of a tile, whose bytes start as zero.
void place(Layout layout, const Run& run, std::size_t row, std::uint8_t* block) {
    std::uint8_t* q = block;
    switch (layout) {
        case Layout::tiles_4:
            store_half(block + 2 * row, run.d[0]);
            store_half(block + 16 + 2 * row, run.m);
            q = block + 32;
            break;
        case Layout::tiles_8:
            store_half(block + 2 * row, run.d[0]);
            q = block + 16;
            break;
        case Layout::tiles_4_wide:
        case Layout::tiles_8_wide:
            store_float(block + 4 * row, run.d[0]);
            store_float(block + 32 + 4 * row, run.m);
            q = block + 64;
            break;
        case Layout::tiles_8_halves:
            store_float(block + 4 * row, run.d[0]);
            store_float(block + 32 + 4 * row, run.d[1]);
            q = block + 64;
            break;
        case Layout::rows_f32:
        case Layout::rows_f16:
        case Layout::rows_bf16:
            return;
    }
    const bool nibbles = layout == Layout::tiles_4 || layout == Layout::tiles_4_wide;
    for (std::size_t c = 0; c < block_cols; ++c) {
        const auto value = static_cast<std::uint8_t>(run.q[c]);
        const std::size_t at = c % 16 / 4 * 32 + row * 4 + c % 4;
        if (!nibbles)
            q[c / 4 * 32 + row * 4 + c % 4] = value;
        else
            q[at] = static_cast<std::uint8_t>(q[at] | (c < 16 ? value : value << 4));
    }
}

}  // namespace

std::size_t block_bytes(Layout layout) {
    switch (layout) {
        case Layout::tiles_4:
            return 160;
        case Layout::tiles_4_wide:
            return 192;
        case Layout::tiles_8:
            return 272;
        case Layout::tiles_8_wide:
        case Layout::tiles_8_halves:
            return 320;
        case Layout::rows_f32:
        case Layout::rows_f16:
        case Layout::rows_bf16:
            break;
    }
    return 0;
}

Layout layout_of(Format format) {
    switch (format) {
        case Format::f16:
            return Layout::rows_f16;
        case Format::bf16:
            return Layout::rows_bf16;
        case Format::q4_0:
        case Format::q4_1:
            return Layout::tiles_4;
        case Format::q4_k:
            return Layout::tiles_4_wide;
        case Format::q5_0:
        case Format::q8_0:
            return Layout::tiles_8;
        case Format::q5_1:
        case Format::q5_k:
            return Layout::tiles_8_wide;
        case Format::q6_k:
            return Layout::tiles_8_halves;
        case Format::f32:
            break;
    }
    return Layout::rows_f32;
}

bool is_quantized(Layout layout) {
    return block_bytes(layout) != 0;
}

std::size_t packed_bytes(Format format, std::size_t rows, std::size_t cols) {
    return (rows + tile_rows - 1) / tile_rows * (cols / block_cols) * block_bytes(layout_of(format));
}

void pack(Format format, const std::uint8_t* source, std::size_t rows, std::size_t cols, std::uint8_t* out) {
    const Layout layout = layout_of(format);
    const std::size_t stride = row_bytes(format, cols);
    const std::size_t blocks = cols / block_cols;
    std::memset(out, 0, packed_bytes(format, rows, cols));
    for (std::size_t row = 0; row < rows; ++row) {
        std::uint8_t* tile = out + row / tile_rows * blocks * block_bytes(layout);
        for (std::size_t index = 0; index < blocks; ++index)
            place(layout, unpack(format, source + row * stride, index), row % tile_rows,
                  tile + index * block_bytes(layout));
    }
}

}  // namespace exa::kernels
