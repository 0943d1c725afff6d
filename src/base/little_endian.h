// Whole numbers as bytes, the lowest first, whatever machine it is.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

namespace exa {

// Writes sizeof(T) bytes; gives where the next ones go.
template <std::unsigned_integral T>
std::uint8_t* put_le(std::uint8_t* out, T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i) *out++ = static_cast<std::uint8_t>(value >> (8 * i));
    return out;
}

// Reads sizeof(T) bytes.
template <std::unsigned_integral T>
T get_le(const std::uint8_t* at) {
    T value = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i) value = static_cast<T>(value | static_cast<T>(at[i]) << (8 * i));
    return value;
}

}  // namespace exa
