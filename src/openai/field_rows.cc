// The rows of the field table. A reason reads behind "Unsupported parameter: 'NAME': ".
#include "openai/field_table.h"

#include <limits>

namespace exa::openai {

namespace {

constexpr double int_max = std::numeric_limits<std::int32_t>::max();

// A letter each: (c)hat, com(p)letions, (r)esponses, (e)mbeddings, (t)okenize, (d)etokenize, (m)essages of a chat.
constexpr std::uint8_t endpoints(std::string_view letters) {
    constexpr std::string_view all = "cpretdm";
    static_assert(all.size() == endpoint_count);
    std::uint8_t bits = 0;
    for (const char letter : letters) bits |= static_cast<std::uint8_t>(1U << all.find(letter));
    return bits;
}

constexpr FieldRow honoured(std::string_view name, std::string_view where, std::string_view type, std::string_view help,
                            Range range = {}) {
    return {name, Treatment::honoured, endpoints(where), type, range, help, {}};
}

constexpr FieldRow refused(std::string_view name, std::string_view where, std::string_view why, Neutral neutral = {}) {
    return {name, Treatment::refused, endpoints(where), {}, {}, why, neutral};
}

constexpr FieldRow ignored(std::string_view name, std::string_view where, std::string_view why) {
    return {name, Treatment::ignored, endpoints(where), {}, {}, why, {}};
}

constexpr std::string_view no_tools = "the built-in engine calls no tools";
constexpr std::string_view no_constraint =
    "the built-in engine cannot constrain its answers; an attached vLLM or llama.cpp can";
constexpr std::string_view no_sampler = "the built-in engine has no such sampler";
constexpr std::string_view no_chat_template = "the built-in engine writes prompts by the model file's own template";
constexpr std::string_view no_storage = "nothing is stored here; send the whole input";
constexpr std::string_view needs_nothing = "belongs to a sampler or a feature that is off";

constexpr FieldRow rows[] = {
    // What is asked.
    honoured("model", "cpretd", "string", "may be left out of `/tokenize` and `/detokenize` if one model is served"),
    honoured("messages", "ct", "array",
             "1 to 4,096, of text. If the last is the assistant's, the answer continues it, unless "
             "`continue_final_message` or `add_generation_prompt` says otherwise. `developer` is `system` where the "
             "model has no such role"),
    honoured("role", "m", "string", "`system`, `developer`, `user`, `assistant` or `tool`"),
    honoured("content", "m", "string or array of text parts",
             "parts are joined by a newline; an assistant's may be null"),
    honoured("prefix", "m", "boolean", "of the last message, an assistant's: the answer continues it"),
    honoured("prompt", "p", "string, array of token ids, or array of either", "1 to 2,048 prompts"),
    honoured("prompt", "t", "string", "or `messages`"),
    honoured("input", "r", "string or array of messages", "text"),
    honoured("input", "e", "string, array of token ids, or array of either", "1 to 2,048 inputs, none empty"),
    honoured("tokens", "d", "array of token ids", "at most 262,144"),
    honoured("instructions", "r", "string", "stands before the input as the system's"),
    honoured("add_generation_prompt", "ct", "boolean",
             "true (the default) ends the prompt with the opening of an answer"),
    honoured("continue_final_message", "ct", "boolean", "the answer continues the last message, whoever's it is"),
    honoured("add_special_tokens", "pt", "boolean",
             "such as BOS; true by default. Of messages the template writes them: false"),
    honoured("truncate_prompt_tokens", "cpe", "integer", "keeps that many last tokens of a prompt; -1: what fits",
             {-1, int_max}),
    // How long the answer is, and where it ends.
    honoured("max_tokens", "cp", "integer", "completions: 16 unless told; chat: what the context holds; cut to that",
             {1, int_max}),
    honoured("max_completion_tokens", "cp", "integer", "wins over `max_tokens`", {1, int_max}),
    honoured("max_output_tokens", "r", "integer", "as `max_tokens` of chat", {1, int_max}),
    honoured("min_tokens", "cpr", "integer", "no end token, stop token or stop string ends the answer before",
             {0, int_max}),
    honoured("ignore_eos", "cpr", "boolean", "the model's end tokens do not end the answer"),
    honoured("stop", "cp", "string or array of strings",
             "at most 16, each at most 1,024 bytes; empty ones are left out"),
    honoured("stop_token_ids", "cpr", "array of token ids", "at most 128; they end the answer and are not shown"),
    // Sampling.
    honoured("temperature", "cpr", "number", "1 unless told; 0 takes the likeliest token", {0, 2}),
    honoured("top_p", "cpr", "number", "samples from the fewest likeliest tokens with this share; 0 keeps one", {0, 1}),
    honoured("top_k", "cpr", "integer", "samples from the k likeliest tokens; 0 or -1: from all", {-1, int_max}),
    honoured("min_p", "cpr", "number", "drops tokens less likely than this share of the likeliest one", {0, 1}),
    honoured("repetition_penalty", "cpr", "number",
             "divides the logits of tokens of the prompt and the answer, multiplies negative ones", {0, 10, true}),
    honoured("presence_penalty", "cpr", "number", "taken off the logits of tokens that the answer has already",
             {-2, 2}),
    honoured("frequency_penalty", "cpr", "number", "likewise, once for each time", {-2, 2}),
    honoured("logit_bias", "cpr", "object", "token id to bias, -100 to 100; at most 1,024"),
    honoured("seed", "cpr", "integer",
             "the first choice samples under it, choice i under a number derived from it and i; without one the peer "
             "draws one. Same seed, same text, whichever replica answers"),
    // What the answer looks like.
    honoured("stream", "cpr", "boolean", "server-sent events"),
    honoured("stream_options", "cp", "object", "`include_usage`"),
    honoured("n", "cp", "integer",
             "choices of each prompt, numbered from the first prompt's on, at most 128 in all; at most 4 run at once",
             {1, 128}),
    honoured("best_of", "p", "integer", "only if it equals `n`", {1, 128}),
    honoured("logprobs", "c", "boolean", "natural logarithms of what the model found, before sampling"),
    honoured("logprobs", "p", "integer", "likewise, of so many of the likeliest beside each token", {0, 20}),
    honoured("top_logprobs", "cr", "integer", "how many of the likeliest beside each token", {0, 20}),
    honoured("include", "r", "array", "`message.output_text.logprobs`; others have nothing to tell"),
    honoured("echo", "p", "boolean", "each choice begins with its prompt"),
    honoured("skip_special_tokens", "cpr", "boolean", "false: the answer shows control tokens by their names"),
    honoured("encoding_format", "e", "string", "`float` or `base64`"),
    honoured("dimensions", "e", "integer", "only the model's own width", {1, int_max}),
    honoured("return_token_strs", "t", "boolean", "the tokens' texts too"),
    honoured("truncation", "r", "string", "`disabled` or `auto`; an input that does not fit is a 400 either way"),
    honoured("metadata", "r", "object", "told back; at most 16 members, strings"),
    // Where it goes.
    honoured("user", "cpr", "string", "names the session when nothing better does"),
    honoured("prompt_cache_key", "cpr", "string", "likewise, before `user`"),

    // Tools and other kinds of content.
    refused("tools", "crt", no_tools, {.beside = "tool_choice"}),
    refused("functions", "c", no_tools, {.beside = "function_call"}),
    refused("tool_choice", "crt", "only \"none\" and \"auto\" are supported", {.texts = "none|auto"}),
    refused("function_call", "c", "only \"none\" and \"auto\" are supported", {.texts = "none|auto"}),
    refused("tool_calls", "m", no_tools),
    refused("function_call", "m", no_tools),
    refused("audio", "cm", "the built-in engine knows only text"),
    refused("modalities", "c", "only [\"text\"] is supported", {.is_text_list = true}),
    refused("web_search_options", "c", "the built-in engine searches nothing"),
    refused("documents", "ct", no_chat_template),
    refused("mm_processor_kwargs", "cprt", "the built-in engine knows only text"),
    // Constraints on the answer.
    refused("response_format", "cpr", "only the type \"text\" is supported", {.is_text_type = true}),
    refused("guided_json", "cpr", no_constraint),
    refused("guided_regex", "cpr", no_constraint),
    refused("guided_choice", "cpr", no_constraint),
    refused("guided_grammar", "cpr", no_constraint),
    refused("structured_outputs", "cpr", no_constraint),
    refused("structural_tag", "cpr", no_constraint),
    refused("json_schema", "cpr", no_constraint),
    refused("grammar", "cpr", no_constraint),
    refused("grammar_lazy", "cpr", no_constraint),
    refused("regex", "cpr", no_constraint),
    refused("ebnf", "cpr", no_constraint),
    refused("allowed_token_ids", "cpr", no_constraint),
    refused("bad_words", "cpr", no_constraint),
    refused("stop_regex", "cpr", "only stop strings and stop tokens are supported"),
    refused("stop", "r", "not of the responses API; use stop_token_ids or /v1/chat/completions"),
    refused("include_stop_str_in_output", "cpr", "stop strings are never shown"),
    // Prompts.
    refused("suffix", "p", "the built-in engine fills in nothing"),
    refused("chat_template", "crt", no_chat_template),
    refused("chat_template_kwargs", "crt", no_chat_template),
    refused("add_special_tokens", "c", "the chat template writes them"),
    refused("add_generation_prompt", "r", "not of the responses API; use /v1/chat/completions"),
    refused("continue_final_message", "r", "not of the responses API; use /v1/chat/completions"),
    refused("truncate_prompt_tokens", "rt", "not of this endpoint", {.number = -1}),
    refused("echo", "c", "only of /v1/completions"),
    refused("previous_response_id", "r", no_storage),
    refused("conversation", "r", no_storage),
    refused("prompt", "r", "prompts are not stored; send instructions and input"),
    refused("background", "r", no_storage),
    refused("context_management", "r", "the input is taken as it is"),
    refused("moderation", "r", "nothing is moderated here"),
    // Samplers of other engines.
    refused("use_beam_search", "cpr", no_sampler),
    refused("length_penalty", "cpr", no_sampler, {.number = 1}),
    refused("typical_p", "cpr", no_sampler, {.number = 1}),
    refused("top_n_sigma", "cpr", no_sampler, {.number = -1}),
    refused("top_a", "cpr", no_sampler, {.number = 0}),
    refused("xtc_probability", "cpr", no_sampler, {.number = 0}),
    refused("dynatemp_range", "cpr", no_sampler, {.number = 0}),
    refused("dry_multiplier", "cpr", no_sampler, {.number = 0}),
    refused("mirostat", "cpr", no_sampler, {.number = 0}),
    refused("repeat_penalty", "cpr", "use repetition_penalty, which looks at the whole prompt and answer",
            {.number = 1}),
    refused("min_keep", "cpr", no_sampler, {.number = 0}),
    refused("samplers", "cpr", "the order is temperature, min_p, top_k, top_p"),
    refused("logits_processors", "cpr", no_sampler),
    refused("custom_logit_processor", "cpr", no_sampler),
    refused("thinking_token_budget", "cpr", no_sampler),
    refused("n_predict", "cp", "use max_tokens", {.number = -1}),
    refused("max_new_tokens", "cp", "use max_tokens"),
    refused("min_new_tokens", "cp", "use min_tokens", {.number = 0}),
    refused("n_keep", "cp", "use truncate_prompt_tokens", {.number = 0}),
    refused("t_max_predict_ms", "cp", "an answer ends by its tokens", {.number = 0}),
    // Other answers.
    refused("n", "r", "one answer a request", {.number = 1}),
    refused("prompt_logprobs", "cpr", "use echo with logprobs of /v1/completions"),
    refused("n_probs", "cp", "use logprobs", {.number = 0}),
    refused("post_sampling_probs", "cp", "logprobs are of the model's own distribution"),
    refused("return_tokens_as_token_ids", "cpr", "tokens are told as text and bytes"),
    refused("return_token_ids", "cpr", "tokens are told as text; /tokenize gives ids"),
    refused("return_hidden_states", "cpr", "use /v1/embeddings"),
    refused("response_fields", "cp", "answers come whole"),
    refused("lora", "cpr", "the built-in engine has no adapters"),
    refused("lora_path", "cpr", "the built-in engine has no adapters"),
    refused("cache_salt", "cpr", "tenants are what keeps caches apart"),
    refused("kv_transfer_params", "cpr", "KV moves among peers by itself"),
    refused("vllm_xargs", "cpr", "the built-in engine has no plug-ins"),

    ignored("store", "cr", "nothing is stored"),
    ignored("metadata", "cp", "nothing is stored that it could be beside"),
    ignored("user", "e", "embeddings belong to no session"),
    ignored("stream_options", "r", "events have no padding"),
    ignored("service_tier", "cpr", "the API key's priority decides"),
    ignored("priority", "cpr", "the API key's priority decides"),
    ignored("safety_identifier", "cpr", "nobody looks at it"),
    ignored("prompt_cache_retention", "cpr", "`kv.*` of the configuration decides"),
    ignored("cache_prompt", "cp", "prompts are always cached"),
    ignored("id_slot", "cp", "the router decides"),
    ignored("prediction", "c", "it only speeds an answer up"),
    ignored("parallel_tool_calls", "cr", "no tool is called"),
    ignored("max_tool_calls", "r", "no tool is called"),
    ignored("parse_tool_calls", "c", "no tool is called"),
    ignored("reasoning_effort", "c", "a hint"),
    ignored("reasoning", "cr", "a hint"),
    ignored("verbosity", "c", "a hint"),
    ignored("text", "r", "`verbosity` is a hint; a `format` other than text is refused"),
    ignored("include_reasoning", "c", "answers come as the model wrote them"),
    ignored("reasoning_format", "c", "answers come as the model wrote them"),
    ignored("separate_reasoning", "c", "answers come as the model wrote them"),
    ignored("stream_reasoning", "c", "answers come as the model wrote them"),
    ignored("name", "m", "no template shows it"),
    ignored("refusal", "m", "told by `content`"),
    ignored("request_id", "cpre", "`x-request-id` is the request's name"),
    ignored("rid", "cpre", "`x-request-id` is the request's name"),
    ignored("timings_per_token", "cp", "an extra of llama.cpp"),
    ignored("return_progress", "cp", "an extra of llama.cpp"),
    ignored("spaces_between_special_tokens", "cpr", "texts of tokens have their own spaces"),
    ignored("guided_decoding_backend", "cpr", needs_nothing),
    ignored("guided_whitespace_pattern", "cpr", needs_nothing),
    ignored("repeat_last_n", "cpr", needs_nothing),
    ignored("xtc_threshold", "cpr", needs_nothing),
    ignored("dynatemp_exponent", "cpr", needs_nothing),
    ignored("dry_base", "cpr", needs_nothing),
    ignored("dry_allowed_length", "cpr", needs_nothing),
    ignored("dry_penalty_last_n", "cpr", needs_nothing),
    ignored("dry_sequence_breakers", "cpr", needs_nothing),
    ignored("mirostat_tau", "cpr", needs_nothing),
    ignored("mirostat_eta", "cpr", needs_nothing),
};

}  // namespace

std::span<const FieldRow> field_rows() {
    return rows;
}

}  // namespace exa::openai
