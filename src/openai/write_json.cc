#include "openai/write_json.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>

namespace exa::openai {

namespace {

void append_escape(std::string& out, char character) {
    out += '\\';
    switch (character) {
        case '"':
        case '\\':
            out += character;
            return;
        case '\b':
            out += 'b';
            return;
        case '\f':
            out += 'f';
            return;
        case '\n':
            out += 'n';
            return;
        case '\r':
            out += 'r';
            return;
        case '\t':
            out += 't';
            return;
        default:
            break;
    }
    constexpr std::string_view digits = "0123456789abcdef";
    const auto code = static_cast<std::uint8_t>(character);
    out += "u00";
    out += digits[code >> 4];
    out += digits[code & 15];
}

template <class Number>
void append_finite(std::string& out, Number number) {
    if (std::isnan(number)) number = 0;
    if (std::isinf(number)) number = std::copysign(std::numeric_limits<Number>::max(), number);
    std::array<char, 32> text;
    const auto [end, errc] = std::to_chars(text.data(), text.data() + text.size(), number);
    out.append(text.data(), end);
}

}  // namespace

void append_quoted(std::string& out, std::string_view text) {
    out += '"';
    std::size_t plain = 0;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const auto byte = static_cast<std::uint8_t>(text[at]);
        if (byte >= 0x20 && byte != '"' && byte != '\\') continue;
        out += text.substr(plain, at - plain);
        append_escape(out, text[at]);
        plain = at + 1;
    }
    out += text.substr(plain);
    out += '"';
}

std::string quoted(std::string_view text) {
    std::string out;
    out.reserve(text.size() + 2);
    append_quoted(out, text);
    return out;
}

void append_number(std::string& out, float number) {
    append_finite(out, number);
}

void append_number(std::string& out, double number) {
    append_finite(out, number);
}

}  // namespace exa::openai
