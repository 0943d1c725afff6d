// Prompts: what conversations say, from a file or made up.
//
// Texts are held as JSON already, so that a request is put together by appending.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/rng.h"
#include "loadgen/config.h"

namespace exa::loadgen {

struct Prompt {
    std::string opening;              // messages before the first turn as JSON, each followed by a comma
    std::vector<std::string> turns;   // what the user says, each a JSON value; at least one
    std::uint32_t output_tokens = 0;  // 0: as the configuration says
};

// A file with a prompt on every line that is not blank. A line that begins with { is a JSON object, of which one of
// these is taken: "prompt": a text; "messages": as the chat API takes them, the last one of the user; "conversations":
// [{"from": "human" or "gpt", "value": text}, ...], whose human parts become the turns of a conversation (the model
// under test gives its own answers). "output_tokens" or "max_tokens" beside them bounds the answer. Any other line is
// the prompt itself. errc::bad_prompts names the line.
Result<std::vector<Prompt>> parse_prompts(std::string_view text);

// errc::bad_prompts when the completions API cannot carry them: it knows neither messages before the prompt nor parts
// of one that are not text.
Result<void> check_prompts(std::span<const Prompt> prompts, Api api);

// `tokens` common English words: nearly each is one token to the vocabularies in use. No word needs a JSON escape.
std::string make_words(Rng& rng, std::uint32_t tokens);

// Quoted and escaped; invalid UTF-8 becomes U+FFFD.
std::string to_json_text(std::string_view text);

}  // namespace exa::loadgen
