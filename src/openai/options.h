// Options: how an answer is to be made, the same for every kind of request that generates text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "openai/error.h"
#include "openai/field_table.h"

namespace exa::openai {

struct Limits {
    std::size_t body_bytes_max = 16 * 1024 * 1024;
    std::size_t messages_max = 4096;
    std::size_t stop_bytes_max = 1024;  // of one stop string; bounds what a stream holds back
    std::size_t stops_max = 16;
    std::size_t stop_token_ids_max = 128;
    std::size_t inputs_max = 2048;      // prompts of one completion, inputs of one call for embeddings
    std::uint32_t choices_max = 128;    // of one request, all prompts together
    std::size_t logit_bias_max = 1024;  // tokens
};

// What the engine behind can do beyond one plain answer. A request that needs more is a 400 that names the field.
struct Features {
    bool choices = false;    // n above 1, several prompts of a completion
    bool logprobs = false;   // of the answer's tokens
    bool penalties = false;  // presence_penalty, frequency_penalty, repetition_penalty
    bool logit_bias = false;
    bool echo = false;  // a completion that begins with its prompt
    bool operator==(const Features&) const = default;
};

// With all of them.
inline constexpr Features features_all{true, true, true, true, true};

inline constexpr std::uint32_t top_logprobs_max = 20;

struct Options {
    std::string model;
    bool stream = false;
    bool include_usage = false;               // stream_options.include_usage
    std::optional<std::uint32_t> max_tokens;  // at least 1; absent: as much as the context holds
    std::uint32_t min_tokens = 0;             // of the answer before anything but max_tokens ends it
    double temperature = 1.0;                 // 0 .. 2, 0 is greedy
    double top_p = 1.0;                       // 0 .. 1
    std::uint32_t top_k = 0;                  // 0: all
    double min_p = 0.0;                       // 0 .. 1
    std::optional<std::uint64_t> seed;        // a negative one wraps, which keeps different seeds different
    std::vector<std::string> stop;            // at most Limits::stops_max, none empty
    std::vector<std::uint32_t> stop_token_ids;
    bool ignore_eos = false;                // only stop_token_ids and stop end the answer
    bool shows_special = false;             // control tokens of the answer, by their names
    std::uint32_t n = 1;                    // choices a prompt, 1 .. choices_max
    std::optional<std::uint32_t> logprobs;  // how many of the likeliest tokens beside each one sent; absent: none sent
    double presence_penalty = 0.0;          // -2 .. 2
    double frequency_penalty = 0.0;         // -2 .. 2
    double repetition_penalty = 1.0;        // above 0, 1 does nothing
    // Token id and what is added to its logit, -100 .. 100; by id, each once.
    std::vector<std::pair<std::uint32_t, double>> logit_bias;
    std::optional<std::string> user;
    std::optional<std::string> prompt_cache_key;
};

// Of a chat or of completions: all but logprobs, whose field differs between them. What the table refuses is refused
// first.
ApiResult<Options> parse_options(const Fields& fields, Endpoint endpoint, const Limits& limits,
                                 const Features& features);

// How each token is chosen and which tokens end the answer: what all kinds of answers share. Into `options`, whose
// max_tokens is there already.
ApiResult<void> parse_sampling(const Fields& fields, const Limits& limits, const Features& features, Options& options);

// The parts of it that other requests share.
ApiResult<std::string> parse_model(const Fields& fields);
// An integer within the table's range, which is one of 32 bits; nothing when absent.
ApiResult<std::optional<std::int64_t>> parse_integer(const Fields& fields, std::string_view key);
// Likewise, of a range without negative numbers.
ApiResult<std::optional<std::uint32_t>> parse_count(const Fields& fields, std::string_view key);
// How many of a prompt's last tokens are kept: nothing for all of them, -1 for as many as fit.
ApiResult<std::optional<std::int64_t>> parse_truncation(const Fields& fields);

// "prompt[3]".
std::string indexed(std::string_view path, std::size_t index);

}  // namespace exa::openai
