#include "openai/json_cursor.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/check.h"
#include "openai/utf8.h"

namespace exa::openai {

namespace {

constexpr const char* too_early = "it ends too early";
constexpr const char* syntax = "syntax error";

constexpr std::uint64_t each_byte = 0x0101010101010101;
constexpr std::uint64_t high_bits = 0x8080808080808080;

// Of eight bytes none is a quote, a backslash, a control character or above ASCII. A subtraction sets the high bit of a
// byte that is below what is taken from it; the borrow may set another one's too, but only beside such a byte.
bool is_plain(std::uint64_t eight) {
    const std::uint64_t quote = (eight ^ (each_byte * '"')) - each_byte;
    const std::uint64_t backslash = (eight ^ (each_byte * '\\')) - each_byte;
    const std::uint64_t control = eight - each_byte * 0x20;
    return ((quote | backslash | control | eight) & high_bits) == 0;
}

bool is_continuation(char byte) {
    return (static_cast<std::uint8_t>(byte) & 0xC0) == 0x80;
}

// As code_point_length, of bytes that begin above ASCII: the common cases without a call.
std::size_t length_above_ascii(std::string_view bytes) {
    const auto lead = static_cast<std::uint8_t>(bytes.front());
    if (lead >= 0xC2 && lead < 0xE0 && bytes.size() >= 2 && is_continuation(bytes[1])) return 2;
    if (lead > 0xE0 && lead < 0xED && bytes.size() >= 3 && is_continuation(bytes[1]) && is_continuation(bytes[2]))
        return 3;
    return code_point_length(bytes.substr(0, 4));
}

std::uint32_t hex_value(std::string_view digits) {
    std::uint32_t value = 0;
    for (const char digit : digits) {
        const auto letter = static_cast<std::uint32_t>(digit | 0x20);
        value = value * 16 + (digit <= '9' ? letter - '0' : letter - 'a' + 10);
    }
    return value;
}

void append_code_point(std::uint32_t code, std::string& out) {
    const auto put = [&out](std::uint32_t byte) { out += static_cast<char>(byte); };
    if (code < 0x80) {
        put(code);
    } else if (code < 0x800) {
        put(0xC0 | (code >> 6));
        put(0x80 | (code & 0x3F));
    } else if (code < 0x10000) {
        put(0xE0 | (code >> 12));
        put(0x80 | ((code >> 6) & 0x3F));
        put(0x80 | (code & 0x3F));
    } else {
        put(0xF0 | (code >> 18));
        put(0x80 | ((code >> 12) & 0x3F));
        put(0x80 | ((code >> 6) & 0x3F));
        put(0x80 | (code & 0x3F));
    }
}

constexpr bool is_high_surrogate(std::uint32_t code) {
    return code >= 0xD800 && code < 0xDC00;
}

constexpr bool is_low_surrogate(std::uint32_t code) {
    return code >= 0xDC00 && code < 0xE000;
}

// Appends the value of the escape at raw[at], a backslash of a judged string; returns where it ends.
std::size_t append_escape(std::string_view raw, std::size_t at, std::string& out) {
    switch (raw[at + 1]) {
        case 'b':
            out += '\b';
            return at + 2;
        case 'f':
            out += '\f';
            return at + 2;
        case 'n':
            out += '\n';
            return at + 2;
        case 'r':
            out += '\r';
            return at + 2;
        case 't':
            out += '\t';
            return at + 2;
        case 'u':
            break;
        default:
            out += raw[at + 1];
            return at + 2;
    }
    std::uint32_t code = hex_value(raw.substr(at + 2, 4));
    if (!is_high_surrogate(code)) {
        append_code_point(code, out);
        return at + 6;
    }
    code = 0x10000 + ((code - 0xD800) << 10) + (hex_value(raw.substr(at + 8, 4)) - 0xDC00);
    append_code_point(code, out);
    return at + 12;
}

}  // namespace

bool JsonText::reads(std::string_view other) const {
    return raw.size() == bytes ? raw == other : text() == other;
}

std::string JsonText::text() const {
    std::string out;
    append_to(out, bytes);
    return out;
}

void JsonText::append_to(std::string& out, std::size_t bytes_max) const {
    if (raw.size() == bytes) {
        out += raw.substr(0, bytes_max);
        return;
    }
    const std::size_t end = out.size() + std::min(bytes, bytes_max);
    for (std::size_t at = 0; at < raw.size() && out.size() < end;) {
        if (raw[at] == '\\') {
            at = append_escape(raw, at, out);
            continue;
        }
        const std::size_t plain = raw.substr(at).find('\\');
        out += raw.substr(at, std::min(plain, end - out.size()));
        at = plain == std::string_view::npos ? raw.size() : at + plain;
    }
    out.resize(std::min(out.size(), end));
}

std::string_view kind_name(JsonKind kind) {
    switch (kind) {
        case JsonKind::null:
            return "null";
        case JsonKind::boolean:
            return "a boolean";
        case JsonKind::number:
            return "a number";
        case JsonKind::string:
            return "a string";
        case JsonKind::array:
            return "an array";
        case JsonKind::object:
            return "an object";
    }
    return "nothing";
}

ApiError JsonCursor::error() const {
    EXA_CHECK(failed());
    return invalid_json(fault_, at_);
}

bool JsonCursor::fail(const char* why) {
    if (fault_ == nullptr) fault_ = why;
    return false;
}

void JsonCursor::skip_space() {
    while (!at_end() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t')) ++at_;
}

JsonKind JsonCursor::peek() {
    skip_space();
    switch (at_end() ? '\0' : text_[at_]) {
        case '"':
            return JsonKind::string;
        case '{':
            return JsonKind::object;
        case '[':
            return JsonKind::array;
        case 't':
        case 'f':
            return JsonKind::boolean;
        case '-':
        case '0':
        case '1':
        case '2':
        case '3':
        case '4':
        case '5':
        case '6':
        case '7':
        case '8':
        case '9':
            return JsonKind::number;
        default:
            return JsonKind::null;
    }
}

bool JsonCursor::take(JsonValue& value) {
    if (failed()) return false;
    value = {};
    value.kind = peek();
    const std::size_t begin = at_;
    const bool nested = value.kind == JsonKind::array || value.kind == JsonKind::object;
    const bool taken = nested ? skip_nested() : take_scalar(value.kind, value.text);
    value.raw = text_.substr(begin, at_ - begin);
    return taken;
}

bool JsonCursor::take_scalar(JsonKind kind, JsonText& text) {
    switch (kind) {
        case JsonKind::boolean:
            return take_word(text_[at_] == 't' ? "true" : "false");
        case JsonKind::number:
            return take_number();
        case JsonKind::string:
            return take_string(text);
        default:
            return take_word("null");
    }
}

// An array or an object with all that is in it.
bool JsonCursor::skip_nested() {
    brackets_.clear();
    JsonText ignored;
    do {
        // A value begins here.
        const JsonKind kind = peek();
        if (kind == JsonKind::array || kind == JsonKind::object) {
            const bool is_object = kind == JsonKind::object;
            if (!open(is_object ? '{' : '[')) return false;
            brackets_.push_back(is_object);
            if (!close(is_object ? '}' : ']')) {
                if (is_object && !take_key(ignored)) return false;
                continue;
            }
            brackets_.pop_back();
        } else if (!take_scalar(kind, ignored)) {
            return false;
        }
        // A value ended here, and perhaps what it is in.
        while (!brackets_.empty() && !next(',')) {
            if (!require_close(brackets_.back() ? '}' : ']')) return false;
            brackets_.pop_back();
        }
        if (!brackets_.empty() && brackets_.back() && !take_key(ignored)) return false;
    } while (!brackets_.empty());
    return true;
}

bool JsonCursor::skip() {
    JsonValue value;
    return take(value);
}

bool JsonCursor::finish() {
    skip_space();
    return !failed() && (at_end() || fail("extra data"));
}

bool JsonCursor::open(char bracket) {
    if (failed()) return false;
    skip_space();
    if (at_end()) return fail(too_early);
    if (text_[at_] != bracket) return fail(syntax);
    ++at_;
    return true;
}

bool JsonCursor::close(char bracket) {
    skip_space();
    if (at_end() || text_[at_] != bracket) return false;
    ++at_;
    return true;
}

bool JsonCursor::require_close(char bracket) {
    return close(bracket) || fail(at_end() ? too_early : syntax);
}

bool JsonCursor::next(char separator) {
    skip_space();
    if (at_end() || text_[at_] != separator) return false;
    ++at_;
    return true;
}

bool JsonCursor::take_key(JsonText& key) {
    skip_space();
    if (at_end()) return fail(too_early);
    if (text_[at_] != '"') return fail(syntax);
    if (!take_string(key)) return false;
    return next(':') || fail(at_end() ? too_early : syntax);
}

bool JsonCursor::take_string(JsonText& text) {
    const std::size_t begin = ++at_;
    std::size_t saved = 0;  // bytes that escapes take beyond their value
    for (;;) {
        at_ = plain_until(at_);
        if (at_end()) return fail(too_early);
        const auto byte = static_cast<std::uint8_t>(text_[at_]);
        if (byte == '"') break;
        if (byte < 0x20) return fail("a control character in a string");
        if (byte >= 0x80) return fail("invalid UTF-8");
        const std::size_t escape = at_;
        std::size_t bytes = 0;
        if (!take_escape(bytes)) return false;
        saved += at_ - escape - bytes;
    }
    text.raw = text_.substr(begin, at_ - begin);
    text.bytes = text.raw.size() - saved;
    ++at_;
    return true;
}

// Where the first byte from `at` on stands that is not part of a code point written as itself.
std::size_t JsonCursor::plain_until(std::size_t at) const {
    const char* const end = text_.data() + text_.size();
    const char* byte = text_.data() + at;
    for (;;) {
        std::uint64_t eight = 0;
        while (end - byte >= 8) {
            std::memcpy(&eight, byte, sizeof eight);
            if (!is_plain(eight)) break;
            byte += sizeof eight;
        }
        for (const char* const near = end - byte >= 8 ? byte + 8 : end; byte < near;) {
            const auto code = static_cast<std::uint8_t>(*byte);
            std::size_t length = 1;
            if (code >= 0x80)
                length = length_above_ascii({byte, static_cast<std::size_t>(end - byte)});
            else if (code < 0x20 || code == '"' || code == '\\')
                length = 0;
            if (length == 0) return static_cast<std::size_t>(byte - text_.data());
            byte += length;
        }
        if (byte == end) return text_.size();
    }
}

// `bytes` are those of its value.
bool JsonCursor::take_escape(std::size_t& bytes) {
    ++at_;
    if (at_end()) return fail(too_early);
    const char letter = text_[at_];
    if (letter != 'u') {
        if (std::string_view("\"\\/bfnrt").find(letter) == std::string_view::npos) return fail("an unknown escape");
        ++at_;
        bytes = 1;
        return true;
    }
    ++at_;
    std::uint32_t code = 0;
    if (!take_hex(code)) return false;
    if (is_low_surrogate(code)) return fail("half a surrogate pair");
    if (is_high_surrogate(code)) {
        if (!text_.substr(at_).starts_with("\\u")) return fail("half a surrogate pair");
        at_ += 2;
        if (!take_hex(code)) return false;
        if (!is_low_surrogate(code)) return fail("half a surrogate pair");
        bytes = 4;
        return true;
    }
    bytes = code < 0x80 ? 1 : code < 0x800 ? 2 : 3;
    return true;
}

bool JsonCursor::take_hex(std::uint32_t& code) {
    const std::string_view digits = text_.substr(at_, 4);
    if (digits.size() < 4) return fail(too_early);
    if (digits.find_first_not_of("0123456789abcdefABCDEF") != std::string_view::npos)
        return fail("an escape without its four digits");
    code = hex_value(digits);
    at_ += 4;
    return true;
}

bool JsonCursor::take_digits() {
    const std::size_t begin = at_;
    while (!at_end() && text_[at_] >= '0' && text_[at_] <= '9') ++at_;
    if (at_ > begin) return true;
    return fail(at_end() ? too_early : syntax);
}

bool JsonCursor::take_number() {
    if (text_[at_] == '-') ++at_;
    if (!at_end() && text_[at_] == '0')
        ++at_;
    else if (!take_digits())
        return false;
    if (!at_end() && text_[at_] == '.') {
        ++at_;
        if (!take_digits()) return false;
    }
    if (at_end() || (text_[at_] | 0x20) != 'e') return true;
    ++at_;
    return take_exponent();
}

// The parser fails on an exponent above 2^31 - 1, and near that on one which the other digits would carry there.
bool JsonCursor::take_exponent() {
    if (!at_end() && (text_[at_] == '+' || text_[at_] == '-')) ++at_;
    const std::size_t begin = at_;
    if (!take_digits()) return false;
    constexpr std::uint64_t limit = std::numeric_limits<std::int32_t>::max();
    std::uint64_t exponent = 0;
    for (const char digit : text_.substr(begin, at_ - begin)) {
        exponent = exponent * 10 + static_cast<std::uint64_t>(digit - '0');
        if (exponent > limit) return fail("the exponent is too large");
    }
    if (exponent + text_.size() > limit) is_for_the_parser_ = true;
    return true;
}

bool JsonCursor::take_word(std::string_view word) {
    const std::string_view rest = text_.substr(at_);
    if (rest.starts_with(word)) {
        at_ += word.size();
        return true;
    }
    return fail(word.starts_with(rest) ? too_early : syntax);
}

}  // namespace exa::openai
