#include "openai/utf8.h"

#include <cstddef>
#include <cstdint>

namespace exa::openai {

namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";

// The well-formed sequences of Unicode 15, table 3-7, by first byte. Only the second byte's range varies.
struct Lead {
    std::size_t length = 0;  // of the sequence; 0: no sequence starts so
    std::uint8_t second_min = 0x80;
    std::uint8_t second_max = 0xBF;
};

Lead lead(std::uint8_t byte) {
    if (byte < 0x80) return {1};
    if (byte < 0xC2) return {0};
    if (byte < 0xE0) return {2};
    if (byte == 0xE0) return {3, 0xA0, 0xBF};
    if (byte == 0xED) return {3, 0x80, 0x9F};
    if (byte < 0xF0) return {3};
    if (byte == 0xF0) return {4, 0x90, 0xBF};
    if (byte < 0xF4) return {4};
    if (byte == 0xF4) return {4, 0x80, 0x8F};
    return {0};
}

bool continues(std::string_view partial, std::uint8_t byte) {
    if (partial.size() > 1) return byte >= 0x80 && byte <= 0xBF;
    const Lead first = lead(static_cast<std::uint8_t>(partial.front()));
    return byte >= first.second_min && byte <= first.second_max;
}

}  // namespace

void append_utf8(std::string& partial, std::string_view bytes, std::string& out) {
    for (const char character : bytes) {
        const auto byte = static_cast<std::uint8_t>(character);
        if (!partial.empty()) {
            if (continues(partial, byte)) {
                partial += character;
                if (partial.size() == lead(static_cast<std::uint8_t>(partial.front())).length) {
                    out += partial;
                    partial.clear();
                }
                continue;
            }
            finish_utf8(partial, out);
        }
        const std::size_t length = lead(byte).length;
        if (length == 0)
            out += replacement;
        else if (length == 1)
            out += character;
        else
            partial = character;
    }
}

void finish_utf8(std::string& partial, std::string& out) {
    if (partial.empty()) return;
    out += replacement;
    partial.clear();
}

std::string valid_utf8(std::string_view bytes) {
    std::string partial;
    std::string out;
    out.reserve(bytes.size());
    append_utf8(partial, bytes, out);
    finish_utf8(partial, out);
    return out;
}

std::size_t code_point_length(std::string_view bytes) {
    if (bytes.empty()) return 0;
    const Lead first = lead(static_cast<std::uint8_t>(bytes.front()));
    if (bytes.size() < first.length) return 0;
    for (std::size_t i = 1; i < first.length; ++i)
        if (!continues(bytes.substr(0, i), static_cast<std::uint8_t>(bytes[i]))) return 0;
    return first.length;
}

std::string_view cut_utf8(std::string_view text, std::size_t bytes_max) {
    if (text.size() <= bytes_max) return text;
    while (bytes_max > 0 && (static_cast<std::uint8_t>(text[bytes_max]) & 0xC0) == 0x80) --bytes_max;
    return text.substr(0, bytes_max);
}

}  // namespace exa::openai
