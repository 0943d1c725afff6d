#include "model/unicode.h"

#include <algorithm>

#include "model/unicode_tables.h"

namespace exa::model {

namespace {

constexpr CodePoint malformed = {0xfffd, 1};

CharClass look_up(std::uint32_t code_point) {
    const auto next = std::ranges::upper_bound(char_class_runs, code_point << 2 | 3U);
    return static_cast<CharClass>(*(next - 1) & 3U);
}

}  // namespace

CharClass char_class(std::uint32_t code_point) {
    // Most text is ASCII, and a comparison is cheaper than a search.
    if (code_point < 0x80) {
        if ((code_point | 0x20U) - 'a' < 26) return CharClass::letter;
        if (code_point - '0' < 10) return CharClass::number;
        return code_point == ' ' || code_point - '\t' < 5 ? CharClass::space : CharClass::other;
    }
    return code_point > 0x10ffff ? CharClass::other : look_up(code_point);
}

CodePoint first_code_point(std::string_view text) {
    const auto byte = [text](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
    const std::uint32_t lead = byte(0);
    if (lead < 0x80) return {lead, 1};
    if (lead < 0xc2 || lead > 0xf4) return malformed;
    const std::uint32_t size = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (text.size() < size) return malformed;
    std::uint32_t value = lead & (0x7fU >> size);
    for (std::uint32_t i = 1; i < size; ++i) {
        if ((byte(i) & 0xc0) != 0x80) return malformed;
        value = value << 6 | (byte(i) & 0x3fU);
    }
    constexpr std::uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const bool surrogate = value - 0xd800 < 0x800;
    if (value < least[size] || surrogate || value > 0x10ffff) return malformed;
    return {value, size};
}

}  // namespace exa::model
