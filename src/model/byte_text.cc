#include "model/byte_text.h"

#include <array>

namespace exa::model {

namespace {

constexpr std::uint32_t code_points = 256 + 68;

constexpr bool spells_itself(std::uint32_t byte) {
    return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

struct Spelling {
    std::array<char, 2> text{};
    std::uint8_t size = 0;
};

struct Tables {
    std::array<Spelling, 256> spelling{};
    std::array<std::int16_t, code_points> byte{};  // by code point; -1 for none
};

constexpr Tables make_tables() {
    Tables tables;
    tables.byte.fill(-1);
    std::uint32_t next = 256;
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        const std::uint32_t code_point = spells_itself(byte) ? byte : next++;
        tables.byte[code_point] = static_cast<std::int16_t>(byte);
        Spelling& spelling = tables.spelling[byte];
        if (code_point < 0x80) {
            spelling = {{static_cast<char>(code_point), 0}, 1};
        } else {
            spelling = {{static_cast<char>(0xc0 | code_point >> 6), static_cast<char>(0x80 | (code_point & 0x3f))}, 2};
        }
    }
    return tables;
}

constexpr Tables tables = make_tables();

}  // namespace

std::string_view byte_text(std::uint8_t byte) {
    const Spelling& spelling = tables.spelling[byte];
    return {spelling.text.data(), spelling.size};
}

std::string to_byte_text(std::string_view bytes) {
    std::string text;
    text.reserve(bytes.size() * 2);
    for (const char byte : bytes) text += byte_text(static_cast<std::uint8_t>(byte));
    return text;
}

std::optional<std::string> from_byte_text(std::string_view text) {
    std::string bytes;
    bytes.reserve(text.size());
    for (std::size_t i = 0; i < text.size();) {
        std::uint32_t code_point = static_cast<std::uint8_t>(text[i++]);
        if (code_point >= 0x80) {
            if (code_point < 0xc0 || code_point >= 0xe0 || i == text.size()) return std::nullopt;
            const auto trail = static_cast<std::uint8_t>(text[i++]);
            if ((trail & 0xc0) != 0x80) return std::nullopt;
            code_point = (code_point & 0x1f) << 6 | (trail & 0x3f);
        }
        if (code_point >= code_points || tables.byte[code_point] < 0) return std::nullopt;
        bytes.push_back(static_cast<char>(tables.byte[code_point]));
    }
    return bytes;
}

}  // namespace exa::model
