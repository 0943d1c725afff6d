// Whole numbers as bytes, the lowest first, whatever machine it is: Boost.Endian, with a position that moves on.
#pragma once

#include <boost/endian/conversion.hpp>
#include <concepts>
#include <cstdint>

namespace exa {

// Writes sizeof(T) bytes; gives where the next ones go.
template <std::unsigned_integral T>
std::uint8_t* put_le(std::uint8_t* out, T value) {
    boost::endian::endian_store<T, sizeof(T), boost::endian::order::little>(out, value);
    return out + sizeof(T);
}

// Reads sizeof(T) bytes.
template <std::unsigned_integral T>
T get_le(const std::uint8_t* at) {
    return boost::endian::endian_load<T, sizeof(T), boost::endian::order::little>(at);
}

}  // namespace exa
