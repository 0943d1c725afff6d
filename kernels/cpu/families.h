// Families: the tables behind kernels.h, one a source file.
#pragma once

#include "kernels/kernels.h"

namespace exa::kernels {

// False on processors without AVX2, FMA and F16C, and on other architectures; then avx2_kernels() must not be called.
bool has_avx2();
const Kernels& avx2_kernels();

// Bytes of one block of 8 rows x 32 columns.
std::size_t block_bytes(Layout layout);

}  // namespace exa::kernels
