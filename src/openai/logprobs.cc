#include "openai/logprobs.h"

#include <algorithm>

#include "openai/utf8.h"
#include "openai/write_json.h"

namespace exa::openai {

namespace {

// As OpenAI's own servers say it. Also the floor, so that no token looks less likely than an impossible one.
constexpr float impossible = -9999.0F;

void append_logprob_number(std::string& out, float logprob) {
    append_number(out, std::max(logprob, impossible));
}

// Its token, logprob and bytes, without the braces.
void append_members(std::string& out, std::string_view bytes, float logprob) {
    out += "\"token\":";
    append_quoted(out, valid_utf8(bytes));
    out += ",\"logprob\":";
    append_logprob_number(out, logprob);
    out += ",\"bytes\":[";
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        if (i > 0) out += ',';
        out += std::to_string(static_cast<std::uint8_t>(bytes[i]));
    }
    out += ']';
}

std::string name_of(std::string_view bytes) {
    if (valid_utf8(bytes) == bytes) return std::string(bytes);
    constexpr std::string_view digits = "0123456789abcdef";
    std::string name = "bytes:";
    for (const char byte : bytes) {
        const auto code = static_cast<std::uint8_t>(byte);
        name += "\\x";
        name += digits[code >> 4];
        name += digits[code & 15];
    }
    return name;
}

}  // namespace

void append_logprob(std::string& out, std::string_view bytes, const TokenLogprobs& token) {
    out += '{';
    append_members(out, bytes, token.logprob);
    out += ",\"top_logprobs\":[";
    for (std::size_t i = 0; i < token.top.size(); ++i) {
        out += i > 0 ? ",{" : "{";
        append_members(out, token.top[i].bytes, token.top[i].logprob);
        out += '}';
    }
    out += "]}";
}

void CompletionLogprobs::begin(std::string_view bytes, std::size_t text_offset) {
    if (!empty())
        for (std::string* list : {&tokens_, &token_logprobs_, &top_logprobs_, &text_offsets_}) *list += ',';
    append_quoted(tokens_, name_of(bytes));
    text_offsets_ += std::to_string(text_offset);
}

void CompletionLogprobs::add_first(std::string_view bytes, std::size_t text_offset) {
    begin(bytes, text_offset);
    token_logprobs_ += "null";
    top_logprobs_ += "null";
}

void CompletionLogprobs::add(std::string_view bytes, const TokenLogprobs& token, std::size_t text_offset) {
    begin(bytes, text_offset);
    append_logprob_number(token_logprobs_, token.logprob);
    top_logprobs_ += '{';
    for (std::size_t i = 0; i < token.top.size(); ++i) {
        if (i > 0) top_logprobs_ += ',';
        append_quoted(top_logprobs_, name_of(token.top[i].bytes));
        top_logprobs_ += ':';
        append_logprob_number(top_logprobs_, token.top[i].logprob);
    }
    top_logprobs_ += '}';
}

std::string CompletionLogprobs::json() const {
    return "{\"tokens\":[" + tokens_ + "],\"token_logprobs\":[" + token_logprobs_ + "],\"top_logprobs\":[" +
           top_logprobs_ + "],\"text_offset\":[" + text_offsets_ + "]}";
}

}  // namespace exa::openai
