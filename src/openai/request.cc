#include "openai/request.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/outcome/try.hpp>
#include <utility>

#include "openai/json.h"

namespace exa::openai {

namespace {

namespace json = boost::json;

constexpr std::uint32_t completion_tokens_default = 16;

constexpr std::string_view no_logprobs = "the engine behind this model does not support it";

bool is_text(const json::value* value, std::string_view text) {
    return value->is_string() && std::string_view(value->get_string()) == text;
}

// Parameters of a chat that would change the answer and are not built.
ApiResult<void> refuse_unsupported(const Fields& fields) {
    for (const std::string_view key : {"tools", "functions", "audio", "web_search_options", "prediction"}) {
        BOOST_OUTCOME_TRY(refuse_field(fields, key));
    }
    for (const std::string_view key : {"tool_choice", "function_call"}) {
        const auto* choice = fields.find(key);
        if (choice != nullptr && !is_text(choice, "none") && !is_text(choice, "auto"))
            return unsupported_parameter(fields.path(key), "only \"none\" and \"auto\" are supported");
    }
    if (const auto* format = fields.find("response_format")) {
        if (!format->is_object()) return wrong_type("response_format", "an object", kind_name(*format));
        const Fields inner(format->get_object(), "response_format");
        BOOST_OUTCOME_TRY(const auto type, inner.text("type"));
        if (type.value_or("text") != "text")
            return unsupported_parameter("response_format", "only the type \"text\" is supported");
    }
    if (const auto* modalities = fields.find("modalities")) {
        if (!modalities->is_array()) return wrong_type("modalities", "an array", kind_name(*modalities));
        const auto is_other = [](const json::value& value) { return !is_text(&value, "text"); };
        if (std::ranges::any_of(modalities->get_array(), is_other))
            return unsupported_parameter("modalities", "only [\"text\"] is supported");
    }
    return boost::outcome_v2::success();
}

// `logprobs` says whether, `top_logprobs` how many others beside each.
ApiResult<std::optional<std::uint32_t>> parse_chat_logprobs(const Fields& fields, const Features& features) {
    BOOST_OUTCOME_TRY(const auto logprobs, fields.boolean("logprobs"));
    BOOST_OUTCOME_TRY(const auto top, parse_top_logprobs(fields, "top_logprobs"));
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
    BOOST_OUTCOME_TRY(const auto top, parse_top_logprobs(fields, "logprobs"));
    if (!features.logprobs) return unsupported_parameter("logprobs", no_logprobs);
    return top;
}

ApiResult<bool> parse_echo(const Fields& fields, const Options& options, const Features& features) {
    BOOST_OUTCOME_TRY(const auto echo, fields.boolean("echo"));
    if (!echo.value_or(false)) return false;
    if (!features.echo) return unsupported_parameter("echo");
    if (options.logprobs) return unsupported_parameter("echo", "not together with logprobs");
    return true;
}

}  // namespace

ApiResult<ChatRequest> parse_chat(std::string_view body, const Limits& limits, const Features& features) {
    BOOST_OUTCOME_TRY(const auto value, parse_object(body, limits.body_bytes_max));
    const Fields fields(value.get_object(), {});
    ChatRequest request;
    BOOST_OUTCOME_TRY(request.options, parse_options(fields, limits, features));
    BOOST_OUTCOME_TRY(request.options.logprobs, parse_chat_logprobs(fields, features));
    BOOST_OUTCOME_TRY(request.messages, parse_messages(fields, limits));
    BOOST_OUTCOME_TRY(refuse_unsupported(fields));
    return request;
}

ApiResult<CompletionRequest> parse_completion(std::string_view body, const Limits& limits, const Features& features) {
    BOOST_OUTCOME_TRY(const auto value, parse_object(body, limits.body_bytes_max));
    const Fields fields(value.get_object(), {});
    CompletionRequest request;
    BOOST_OUTCOME_TRY(request.options, parse_options(fields, limits, features));
    BOOST_OUTCOME_TRY(request.options.logprobs, parse_completion_logprobs(fields, features));
    BOOST_OUTCOME_TRY(request.prompts, parse_prompts(fields, "prompt", limits.inputs_max));
    if (request.prompts.size() > 1 && !features.choices)
        return unsupported_parameter("prompt", "the engine behind this model takes one prompt a request");
    const std::uint64_t choices = std::uint64_t{request.prompts.size()} * request.options.n;
    if (choices > limits.choices_max)
        return out_of_range("n", std::to_string(choices) + " choices for all prompts",
                            "at most " + std::to_string(limits.choices_max) + " of them");
    BOOST_OUTCOME_TRY(request.echo, parse_echo(fields, request.options, features));
    BOOST_OUTCOME_TRY(const auto suffix, fields.text("suffix"));
    if (!suffix.value_or("").empty()) return unsupported_parameter("suffix");
    if (!request.options.max_tokens) request.options.max_tokens = completion_tokens_default;
    return request;
}

}  // namespace exa::openai
