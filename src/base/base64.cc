#include "base/base64.h"

#include <cstdint>

namespace exa {

namespace {

constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string to_base64(ByteView bytes) {
    std::string text;
    text.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t at = 0; at < bytes.size(); at += 3) {
        std::uint32_t group = 0;
        for (std::size_t i = 0; i < 3; ++i) group = group << 8 | (at + i < bytes.size() ? bytes[at + i] : 0U);
        for (std::size_t i = 0; i < 4; ++i)
            text.push_back(at + i > bytes.size() ? '=' : alphabet[group >> (18 - 6 * i) & 63]);
    }
    return text;
}

std::optional<Bytes> from_base64(std::string_view text) {
    if (text.size() % 4 != 0) return std::nullopt;
    Bytes bytes;
    bytes.reserve(text.size() / 4 * 3);
    for (std::size_t at = 0; at < text.size(); at += 4) {
        std::uint32_t group = 0;
        std::size_t digits = 0;
        for (std::size_t i = 0; i < 4; ++i) {
            const std::size_t value = alphabet.find(text[at + i]);
            if (value == alphabet.npos) break;
            group |= static_cast<std::uint32_t>(value) << (18 - 6 * i);
            ++digits;
        }
        if (digits < 2) return std::nullopt;
        for (std::size_t i = 0; i + 1 < digits; ++i) bytes.push_back(static_cast<std::uint8_t>(group >> (16 - 8 * i)));
    }
    // Wrong padding, characters after it, and bits that no byte has: all of them read as bytes of another text.
    if (to_base64(bytes) != text) return std::nullopt;
    return bytes;
}

}  // namespace exa
