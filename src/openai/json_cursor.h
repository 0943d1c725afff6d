// JsonCursor: one pass over JSON text that judges it and builds nothing.
//
// It takes exactly what parse_object takes (RFC 8259, UTF-8), so that who only looks and who parses never disagree
// about a body, but at any depth: what is passed on is judged by who reads it. A value that is skipped costs a bit a
// level, and no stack. What it shows are views of the text. The first fault ends it: from then on every call fails.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "openai/error.h"

namespace exa::openai {

// One string of the text, as written.
struct JsonText {
    std::string_view raw;   // between the quotes
    std::size_t bytes = 0;  // of its value: fewer than raw has, if that has escapes

    bool empty() const { return bytes == 0; }
    bool is(std::string_view other) const { return bytes == other.size() && reads(other); }
    std::string text() const;
    // Appends the value, but at most `bytes_max` bytes of it.
    void append_to(std::string& out, std::size_t bytes_max) const;
    // is(), of a text of as many bytes.
    bool reads(std::string_view other) const;
};

enum class JsonKind : std::uint8_t { null, boolean, number, string, array, object };

// "a string", "an object", ...
std::string_view kind_name(JsonKind kind);

struct JsonValue {
    JsonKind kind = JsonKind::null;
    std::string_view raw;  // all of it
    JsonText text;         // of a string
};

class JsonCursor {
  public:
    explicit JsonCursor(std::string_view text) : text_(text) {}

    bool failed() const { return fault_ != nullptr; }
    // Why and where it failed.
    ApiError error() const;
    // An exponent so large that only the parser itself knows whether it takes it.
    bool is_for_the_parser() const { return is_for_the_parser_; }

    // What the next value begins like; `null` for anything that begins none.
    JsonKind peek();
    // Takes the next value whole.
    bool take(JsonValue& value);
    bool skip();
    // Only white space is left.
    bool finish();

    // Takes the next value, an object: `on_member(JsonText key)` takes the member's value from this cursor, and
    // returns false once a call of it has failed.
    template <class OnMember>
    bool members(OnMember&& on_member) {
        if (!open('{')) return false;
        if (close('}')) return true;
        do {
            JsonText key;
            if (!take_key(key) || !on_member(key)) return false;
        } while (next(','));
        return require_close('}');
    }

    // Takes the next value, an array, likewise with `on_element()`.
    template <class OnElement>
    bool elements(OnElement&& on_element) {
        if (!open('[')) return false;
        if (close(']')) return true;
        do {
            if (!on_element()) return false;
        } while (next(','));
        return require_close(']');
    }

  private:
    bool fail(const char* why);
    bool skip_nested();
    bool take_scalar(JsonKind kind, JsonText& text);
    bool at_end() const { return at_ == text_.size(); }
    void skip_space();
    bool open(char bracket);
    bool close(char bracket);
    bool require_close(char bracket);
    bool next(char separator);
    bool take_key(JsonText& key);
    bool take_string(JsonText& text);
    std::size_t plain_until(std::size_t at) const;
    bool take_escape(std::size_t& bytes);
    bool take_hex(std::uint32_t& code);
    bool take_number();
    bool take_digits();
    bool take_exponent();
    bool take_word(std::string_view word);

    std::string_view text_;
    std::size_t at_ = 0;
    std::vector<bool> brackets_;  // of skip_nested(), outermost first: whether an object's
    const char* fault_ = nullptr;
    bool is_for_the_parser_ = false;
};

}  // namespace exa::openai
