#include "resp/inline_words.h"

#include <cstddef>

namespace exa::resp {

namespace {

bool is_space(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

char escaped(char c) {
    switch (c) {
        case 'n':
            return '\n';
        case 'r':
            return '\r';
        case 't':
            return '\t';
        case 'b':
            return '\b';
        case 'a':
            return '\a';
        default:
            return c;
    }
}

// Takes what stands between quotes, and the closing one, off `rest`.
bool take_quoted(char quote, std::string_view& rest, std::string& word) {
    while (!rest.empty() && rest[0] != quote) {
        const bool escapes = rest[0] == '\\' && rest.size() > 1;
        std::size_t used = 1;
        if (escapes && quote == '"' && rest.size() > 3 && rest[1] == 'x' && hex_digit(rest[2]) >= 0 &&
            hex_digit(rest[3]) >= 0) {
            word += static_cast<char>(hex_digit(rest[2]) * 16 + hex_digit(rest[3]));
            used = 4;
        } else if (escapes && (quote == '"' || rest[1] == '\'')) {
            word += quote == '"' ? escaped(rest[1]) : '\'';
            used = 2;
        } else {
            word += rest[0];
        }
        rest.remove_prefix(used);
    }
    if (rest.empty()) return false;
    rest.remove_prefix(1);
    return rest.empty() || is_space(rest[0]);
}

}  // namespace

std::optional<std::vector<std::string>> split_inline(std::string_view line) {
    std::vector<std::string> words;
    for (;;) {
        while (!line.empty() && is_space(line[0])) line.remove_prefix(1);
        if (line.empty()) return words;
        std::string& word = words.emplace_back();
        while (!line.empty() && !is_space(line[0])) {
            const char first = line[0];
            line.remove_prefix(1);
            if (first == '"' || first == '\'') {
                if (!take_quoted(first, line, word)) return std::nullopt;
            } else {
                word += first;
            }
        }
    }
}

}  // namespace exa::resp
