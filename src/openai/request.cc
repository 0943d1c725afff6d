#include "openai/request.h"

#include <boost/outcome/try.hpp>
#include <utility>

#include "openai/json.h"

namespace exa::openai {

namespace {

constexpr std::string_view no_logprobs = "the engine behind this model does not support it";

// `logprobs` says whether, `top_logprobs` how many others beside each.
ApiResult<std::optional<std::uint32_t>> parse_chat_logprobs(const Fields& fields, const Features& features) {
    BOOST_OUTCOME_TRY(const auto logprobs, fields.boolean("logprobs"));
    BOOST_OUTCOME_TRY(const auto top, parse_count(fields, "top_logprobs"));
    if (!logprobs.value_or(false)) {
        if (top.value_or(0) == 0) return std::optional<std::uint32_t>();
        if (!features.logprobs) return unsupported_parameter("top_logprobs", no_logprobs);
        return out_of_range("top_logprobs", std::to_string(*top), "absent unless logprobs is true");
    }
    if (!features.logprobs) return unsupported_parameter("logprobs", no_logprobs);
    return std::optional<std::uint32_t>(top.value_or(0));
}

// A number: how many others beside each, so that 0 still asks for the token's own.
ApiResult<std::optional<std::uint32_t>> parse_completion_logprobs(const Fields& fields, const Features& features) {
    const auto* value = fields.find("logprobs");
    if (value == nullptr || *value == false) return std::optional<std::uint32_t>();
    BOOST_OUTCOME_TRY(const auto top, parse_count(fields, "logprobs"));
    if (!features.logprobs) return unsupported_parameter("logprobs", no_logprobs);
    return top;
}

ApiResult<bool> parse_echo(const Fields& fields, const Features& features) {
    BOOST_OUTCOME_TRY(const auto echo, fields.boolean("echo"));
    if (echo.value_or(false) && !features.echo) return unsupported_parameter("echo");
    return echo.value_or(false);
}

}  // namespace

ApiResult<ChatRequest> parse_chat(std::string_view body, const Limits& limits, const Features& features) {
    BOOST_OUTCOME_TRY(const auto value, parse_object(body, limits.body_bytes_max));
    const Fields fields(value.get_object(), {});
    ChatRequest request;
    BOOST_OUTCOME_TRY(request.options, parse_options(fields, Endpoint::chat, limits, features));
    BOOST_OUTCOME_TRY(request.options.logprobs, parse_chat_logprobs(fields, features));
    BOOST_OUTCOME_TRY(request.conversation, parse_conversation(fields, limits));
    BOOST_OUTCOME_TRY(request.truncate_prompt_tokens, parse_truncation(fields));
    return request;
}

ApiResult<CompletionRequest> parse_completion(std::string_view body, const Limits& limits, const Features& features) {
    BOOST_OUTCOME_TRY(const auto value, parse_object(body, limits.body_bytes_max));
    const Fields fields(value.get_object(), {});
    CompletionRequest request;
    BOOST_OUTCOME_TRY(request.options, parse_options(fields, Endpoint::completions, limits, features));
    BOOST_OUTCOME_TRY(request.options.logprobs, parse_completion_logprobs(fields, features));
    BOOST_OUTCOME_TRY(request.prompts, parse_prompts(fields, "prompt", limits.inputs_max));
    if (request.prompts.size() > 1 && !features.choices)
        return unsupported_parameter("prompt", "the engine behind this model takes one prompt a request");
    const std::uint64_t choices = std::uint64_t{request.prompts.size()} * request.options.n;
    if (choices > limits.choices_max)
        return out_of_range("n", std::to_string(choices) + " choices for all prompts",
                            "at most " + std::to_string(limits.choices_max) + " of them");
    BOOST_OUTCOME_TRY(request.echo, parse_echo(fields, features));
    BOOST_OUTCOME_TRY(const auto special, fields.boolean("add_special_tokens"));
    request.add_special_tokens = special.value_or(true);
    BOOST_OUTCOME_TRY(request.truncate_prompt_tokens, parse_truncation(fields));
    return request;
}

}  // namespace exa::openai
