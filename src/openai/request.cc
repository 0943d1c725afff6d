#include "openai/request.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/outcome/try.hpp>
#include <limits>
#include <utility>

#include "openai/json.h"

namespace exa::openai {

namespace {

namespace json = boost::json;

constexpr std::uint32_t completion_tokens_default = 16;

// What a chat template wraps a message in, in tokens.
constexpr std::size_t message_tokens_estimate = 4;

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
        if (choice != nullptr && !is_text(choice, "none"))
            return unsupported_parameter(fields.path(key), "only \"none\" is supported");
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

// The text of a prompt as far as it can be seen without judging it.
class PromptSketch {
  public:
    explicit PromptSketch(std::size_t leading_bytes_max) : leading_bytes_max_(leading_bytes_max) {}

    void add_text(const json::value& value) {
        if (const auto* text = value.if_string()) {
            bytes_ += text->size();
            add_leading({text->data(), text->size()});
        }
    }
    void add_content(const json::value& value) {
        add_text(value);
        if (const auto* parts = value.if_array()) {
            for (const json::value& part : *parts) {
                if (const auto* object = part.if_object())
                    if (const auto* text = object->if_contains("text")) add_text(*text);
            }
        }
    }
    void add_message(const json::value& value) {
        const auto* message = value.if_object();
        if (message == nullptr) return;
        tokens_ += message_tokens_estimate;
        if (const auto* role = message->if_contains("role"); role != nullptr && role->is_string())
            add_leading(std::string_view(role->get_string()));
        add_leading("\n");
        if (const auto* content = message->if_contains("content")) add_content(*content);
        add_leading("\n");
    }
    void add_prompt(const json::value& value) {
        add_text(value);
        if (const auto* list = value.if_array()) {
            for (const json::value& item : *list) {
                add_text(item);
                if (const auto* id = item.if_int64()) {
                    ++tokens_;
                    add_leading(std::to_string(*id) + " ");
                } else if (item.is_array()) {
                    add_prompt(item);
                }
            }
        }
    }
    std::string take_leading() { return std::move(leading_); }
    std::uint32_t tokens() const {
        const std::size_t tokens = tokens_ + bytes_ / 4;
        return static_cast<std::uint32_t>(std::min<std::size_t>(tokens, std::numeric_limits<std::uint32_t>::max()));
    }

  private:
    void add_leading(std::string_view text) { leading_ += text.substr(0, leading_bytes_max_ - leading_.size()); }

    std::size_t leading_bytes_max_;
    std::string leading_;
    std::size_t bytes_ = 0;
    std::size_t tokens_ = 0;
};

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

ApiResult<Peek> peek(std::string_view body, const Limits& limits, std::size_t leading_bytes_max) {
    BOOST_OUTCOME_TRY(const auto value, parse_object(body, limits.body_bytes_max));
    const Fields fields(value.get_object(), {});
    Peek peeked;
    BOOST_OUTCOME_TRY(peeked.model, parse_model(fields));
    BOOST_OUTCOME_TRY(const auto stream, fields.boolean("stream"));
    peeked.stream = stream.value_or(false);
    BOOST_OUTCOME_TRY(peeked.seed, fields.wrapped_integer("seed"));
    BOOST_OUTCOME_TRY(peeked.max_tokens, parse_max_tokens(fields));
    BOOST_OUTCOME_TRY(peeked.user, fields.text("user"));
    BOOST_OUTCOME_TRY(peeked.prompt_cache_key, fields.text("prompt_cache_key"));
    PromptSketch sketch(leading_bytes_max);
    if (const auto* messages = fields.find("messages"); messages != nullptr && messages->is_array()) {
        for (const json::value& message : messages->get_array()) sketch.add_message(message);
    }
    if (const auto* prompt = fields.find("prompt")) sketch.add_prompt(*prompt);
    peeked.leading = sketch.take_leading();
    peeked.prompt_tokens_estimate = sketch.tokens();
    return peeked;
}

}  // namespace exa::openai
