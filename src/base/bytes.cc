#include "base/bytes.h"

#include <algorithm>
#include <array>

namespace exa {

namespace {

constexpr std::string_view digits = "0123456789abcdef";

int digit_value(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

}  // namespace

std::string to_hex(ByteView bytes) {
    std::string text;
    text.reserve(bytes.size() * 2);
    for (const std::uint8_t byte : bytes) {
        text.push_back(digits[byte >> 4]);
        text.push_back(digits[byte & 15]);
    }
    return text;
}

void append_hex(std::string& out, std::uint64_t value) {
    std::array<char, 16> text{};
    for (std::size_t i = 0; i < text.size(); ++i) text[i] = digits[(value >> (60 - 4 * i)) & 15];
    out.append(text.data(), text.size());
}

bool from_hex(std::string_view text, std::span<std::uint8_t> out) {
    if (text.size() != out.size() * 2) return false;
    if (!std::ranges::all_of(text, [](char c) { return digit_value(c) >= 0; })) return false;
    for (std::size_t i = 0; i < out.size(); ++i)
        out[i] = static_cast<std::uint8_t>(digit_value(text[2 * i]) << 4 | digit_value(text[2 * i + 1]));
    return true;
}

std::optional<std::uint64_t> parse_hex(std::string_view text) {
    std::array<std::uint8_t, 8> bytes{};
    if (!from_hex(text, bytes)) return std::nullopt;
    std::uint64_t value = 0;
    for (const std::uint8_t byte : bytes) value = value << 8 | byte;
    return value;
}

}  // namespace exa
