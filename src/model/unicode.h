// unicode: UTF-8 one code point at a time, and the classes the pre-tokenizers' \p{L}, \p{N} and \s stand for.
#pragma once

#include <cstdint>
#include <string_view>

namespace exa::model {

enum class CharClass : std::uint8_t {
    other,
    letter,  // general category L*
    number,  // general category N*
    space,   // property White_Space
};

// Unicode 15.1. Above U+10FFFF everything is other.
CharClass char_class(std::uint32_t code_point);

struct CodePoint {
    std::uint32_t value = 0;
    std::uint32_t size = 0;  // bytes, 1 to 4
};

// The code point `text` (not empty) starts with. Bytes that begin no well-formed sequence (Unicode 15, table 3-7) count
// as U+FFFD, one byte each, so a walk over any bytes ends and loses none.
CodePoint first_code_point(std::string_view text);

}  // namespace exa::model
