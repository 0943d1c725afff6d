// UTF-8 that is well-formed whatever came in: an ill-formed maximal subpart becomes one U+FFFD (Unicode 15, section
// 3.9, "U+FFFD substitution of maximal subparts").
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace exa::openai {

// Appends to `out` what `partial` and `bytes` say together, as well-formed UTF-8. A code point that may still be
// completed stays in `partial` (at most 3 bytes), which starts empty. Any split of the same bytes gives the same text.
void append_utf8(std::string& partial, std::string_view bytes, std::string& out);

// Ends the text: an unfinished code point becomes U+FFFD and `partial` is empty.
void finish_utf8(std::string& partial, std::string& out);

// All of `bytes` at once.
std::string valid_utf8(std::string_view bytes);

// Length of the well-formed code point that `bytes` begin with, 1 to 4; 0 when they begin with none.
std::size_t code_point_length(std::string_view bytes);

// At most `bytes_max` bytes of valid UTF-8, cut between code points.
std::string_view cut_utf8(std::string_view text, std::size_t bytes_max);

}  // namespace exa::openai
