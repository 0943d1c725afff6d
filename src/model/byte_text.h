// byte_text: how byte-level BPE vocabularies spell a byte as one printable code point (GPT-2, Radford et al. 2019).
//
// Visible Latin-1 characters stand for themselves; the other 68 bytes follow from U+0100 on in order, so a space is
// U+0120.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace exa::model {

// UTF-8 of the code point that spells `byte`.
std::string_view byte_text(std::uint8_t byte);

// Each byte of `bytes` spelled.
std::string to_byte_text(std::string_view bytes);

// The bytes `text` spells; nothing when it holds a character that spells none.
std::optional<std::string> from_byte_text(std::string_view text);

}  // namespace exa::model
