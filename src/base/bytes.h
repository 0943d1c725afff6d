// Bytes and views of bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace exa {

using Bytes = std::vector<std::uint8_t>;
using ByteView = std::span<const std::uint8_t>;

inline ByteView as_bytes(std::string_view text) {
    return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

inline std::string_view as_text(ByteView bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Lower-case hexadecimal, two digits a byte.
std::string to_hex(ByteView bytes);

// All sixteen digits of `value`, lower-case.
void append_hex(std::string& out, std::uint64_t value);
// The same read back; nothing unless `text` is exactly 16 hexadecimal digits.
std::optional<std::uint64_t> parse_hex(std::string_view text);

// False (and `out` unchanged) unless `text` is exactly 2 * out.size() hexadecimal digits.
bool from_hex(std::string_view text, std::span<std::uint8_t> out);

}  // namespace exa
