// quantize: float rows to the block formats of GGUF, by plain rounding, for files we write ourselves.
//
// It is not tuned for quality (no search for the best scale): it serves the random-weight models of tests. The layouts
// are in docs/gguf.md of ggml; see row_bytes() for sizes.
#pragma once

#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "model/gguf.h"

namespace exa::model {

// IEEE 754 binary16 bits, rounded to nearest even; too large becomes infinity.
std::uint16_t to_half(float value);
float from_half(std::uint16_t bits);

// Whether quantize() writes `type`: all but the K formats.
bool can_quantize(TensorType type);

// Appends `values` (whole blocks, all finite) to `out`. can_quantize(type) must hold.
void quantize(TensorType type, std::span<const float> values, Bytes& out);

}  // namespace exa::model
