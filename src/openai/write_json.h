// Appending to JSON text: what answers are made of, token by token.
#pragma once

#include <string>
#include <string_view>

namespace exa::openai {

// A string with its quotes. `text` is valid UTF-8.
void append_quoted(std::string& out, std::string_view text);
std::string quoted(std::string_view text);

// The shortest text that reads back as the same number. JSON has none for what is not finite: the lowest or highest
// number stands for an infinity, 0 for a NaN.
void append_number(std::string& out, float number);
void append_number(std::string& out, double number);

}  // namespace exa::openai
