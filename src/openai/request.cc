#include "openai/request.h"

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/outcome/try.hpp>
#include <limits>
#include <utility>

#include "openai/json.h"

namespace exa::openai {

namespace {

namespace json = boost::json;

constexpr std::array<std::pair<std::string_view, Role>, 5> roles = {{
    {"system", Role::system},
    {"developer", Role::developer},
    {"user", Role::user},
    {"assistant", Role::assistant},
    {"tool", Role::tool},
}};

constexpr std::uint32_t completion_tokens_default = 16;
constexpr std::size_t stops_max = 4;

// What a chat template wraps a message in, in tokens.
constexpr std::size_t message_tokens_estimate = 4;

std::string indexed(std::string_view path, std::size_t index) {
    return std::string(path) + "[" + std::to_string(index) + "]";
}

ApiResult<void> refuse_if(bool unsupported, const Fields& fields, std::string_view key, std::string_view reason) {
    if (unsupported) return unsupported_parameter(fields.path(key), reason);
    return boost::outcome_v2::success();
}

// A list or an object may come empty: it then asks for nothing.
bool asks_for_something(const json::value* value) {
    if (value == nullptr) return false;
    if (value->is_array()) return !value->get_array().empty();
    if (value->is_object()) return !value->get_object().empty();
    return true;
}

bool is_text(const json::value* value, std::string_view text) {
    return value->is_string() && std::string_view(value->get_string()) == text;
}

ApiResult<double> number_within(const Fields& fields, std::string_view key, double absent, double min, double max,
                                std::string_view range) {
    BOOST_OUTCOME_TRY(const auto number, fields.number(key));
    if (!number) return absent;
    if (*number < min || *number > max) return out_of_range(fields.path(key), show(*fields.find(key)), range);
    return *number;
}

ApiResult<std::vector<std::string>> parse_stop(const Fields& fields, const Limits& limits) {
    std::vector<std::string> stops;
    const auto* value = fields.find("stop");
    if (value == nullptr) return stops;
    if (value->is_string()) {
        stops.emplace_back(value->get_string());
    } else if (const auto* list = value->if_array()) {
        if (list->size() > stops_max)
            return out_of_range("stop", std::to_string(list->size()) + " strings", "at most 4 strings");
        for (std::size_t i = 0; i < list->size(); ++i) {
            BOOST_OUTCOME_TRY(auto text, as_text((*list)[i], indexed("stop", i)));
            stops.push_back(std::move(text));
        }
    } else {
        return wrong_type("stop", "a string or an array of strings", kind_name(*value));
    }
    for (const std::string& stop : stops) {
        if (stop.empty() || stop.size() > limits.stop_bytes_max)
            return out_of_range("stop", std::to_string(stop.size()) + " bytes",
                                "strings of 1 to " + std::to_string(limits.stop_bytes_max) + " bytes");
    }
    return stops;
}

// Parameters of both kinds that would change the answer and are not built.
ApiResult<void> refuse_unsupported(const Fields& fields) {
    for (const std::string_view key : {"n", "best_of"}) {
        BOOST_OUTCOME_TRY(const auto count, fields.count(key));
        BOOST_OUTCOME_TRY(refuse_if(count.value_or(1) != 1, fields, key, "only 1 is supported"));
    }
    for (const std::string_view key : {"presence_penalty", "frequency_penalty"}) {
        BOOST_OUTCOME_TRY(const auto penalty, fields.number(key));
        BOOST_OUTCOME_TRY(refuse_if(penalty.value_or(0) != 0, fields, key, "only 0 is supported"));
    }
    return refuse_if(asks_for_something(fields.find("logit_bias")), fields, "logit_bias", {});
}

ApiResult<void> refuse_unsupported_in_chat(const Fields& fields) {
    for (const std::string_view key : {"tools", "functions", "audio", "web_search_options", "prediction"}) {
        BOOST_OUTCOME_TRY(refuse_if(asks_for_something(fields.find(key)), fields, key, {}));
    }
    for (const std::string_view key : {"tool_choice", "function_call"}) {
        const auto* choice = fields.find(key);
        BOOST_OUTCOME_TRY(
            refuse_if(choice != nullptr && !is_text(choice, "none"), fields, key, "only \"none\" is supported"));
    }
    BOOST_OUTCOME_TRY(const auto logprobs, fields.boolean("logprobs"));
    BOOST_OUTCOME_TRY(refuse_if(logprobs.value_or(false), fields, "logprobs", {}));
    BOOST_OUTCOME_TRY(const auto top_logprobs, fields.wrapped_integer("top_logprobs"));
    BOOST_OUTCOME_TRY(refuse_if(top_logprobs.value_or(0) != 0, fields, "top_logprobs", {}));
    if (const auto* format = fields.find("response_format")) {
        if (!format->is_object()) return wrong_type("response_format", "an object", kind_name(*format));
        const Fields inner(format->get_object(), "response_format");
        BOOST_OUTCOME_TRY(const auto type, inner.text("type"));
        BOOST_OUTCOME_TRY(refuse_if(type.value_or("text") != "text", fields, "response_format",
                                    "only the type \"text\" is supported"));
    }
    if (const auto* modalities = fields.find("modalities")) {
        if (!modalities->is_array()) return wrong_type("modalities", "an array", kind_name(*modalities));
        const auto is_other = [](const json::value& value) { return !is_text(&value, "text"); };
        BOOST_OUTCOME_TRY(refuse_if(std::ranges::any_of(modalities->get_array(), is_other), fields, "modalities",
                                    "only [\"text\"] is supported"));
    }
    return boost::outcome_v2::success();
}

// `logprobs` 0 still asks for the sampled token's, so every number is refused.
ApiResult<void> refuse_unsupported_in_completion(const Fields& fields) {
    BOOST_OUTCOME_TRY(const auto echo, fields.boolean("echo"));
    BOOST_OUTCOME_TRY(refuse_if(echo.value_or(false), fields, "echo", {}));
    BOOST_OUTCOME_TRY(const auto suffix, fields.text("suffix"));
    BOOST_OUTCOME_TRY(refuse_if(!suffix.value_or("").empty(), fields, "suffix", {}));
    const auto* logprobs = fields.find("logprobs");
    return refuse_if(logprobs != nullptr && *logprobs != false, fields, "logprobs", {});
}

ApiResult<std::string> parse_model(const Fields& fields) {
    BOOST_OUTCOME_TRY(auto model, fields.text("model"));
    if (!model || model->empty()) return missing("model");
    return std::move(*model);
}

ApiResult<std::optional<std::uint32_t>> parse_max_tokens(const Fields& fields) {
    BOOST_OUTCOME_TRY(const auto old_name, fields.count("max_tokens"));
    BOOST_OUTCOME_TRY(const auto new_name, fields.count("max_completion_tokens"));
    if (old_name && new_name && *old_name != *new_name)
        return out_of_range("max_completion_tokens", std::to_string(*new_name),
                            "equal to max_tokens when both are set");
    return new_name ? new_name : old_name;
}

ApiResult<Options> parse_options(const Fields& fields, const Limits& limits) {
    Options options;
    BOOST_OUTCOME_TRY(options.model, parse_model(fields));
    BOOST_OUTCOME_TRY(const auto stream, fields.boolean("stream"));
    options.stream = stream.value_or(false);
    if (const auto* value = fields.find("stream_options")) {
        if (!value->is_object()) return wrong_type("stream_options", "an object", kind_name(*value));
        const Fields inner(value->get_object(), "stream_options");
        BOOST_OUTCOME_TRY(const auto include_usage, inner.boolean("include_usage"));
        options.include_usage = include_usage.value_or(false);
    }
    BOOST_OUTCOME_TRY(options.max_tokens, parse_max_tokens(fields));
    BOOST_OUTCOME_TRY(options.temperature, number_within(fields, "temperature", 1.0, 0.0, 2.0, "from 0 to 2"));
    BOOST_OUTCOME_TRY(options.top_p, number_within(fields, "top_p", 1.0, std::numeric_limits<double>::min(), 1.0,
                                                   "above 0 and at most 1"));
    BOOST_OUTCOME_TRY(options.seed, fields.wrapped_integer("seed"));
    BOOST_OUTCOME_TRY(options.stop, parse_stop(fields, limits));
    BOOST_OUTCOME_TRY(options.user, fields.text("user"));
    BOOST_OUTCOME_TRY(options.prompt_cache_key, fields.text("prompt_cache_key"));
    BOOST_OUTCOME_TRY(refuse_unsupported(fields));
    return options;
}

ApiResult<std::string> parse_part(const json::value& value, const std::string& path) {
    if (!value.is_object()) return wrong_type(path, "an object", kind_name(value));
    const Fields part(value.get_object(), path);
    BOOST_OUTCOME_TRY(const auto type, part.text("type"));
    if (!type) return missing(part.path("type"));
    if (*type != "text")
        return unsupported_parameter(part.path("type"), "only content parts of the type \"text\" are supported");
    BOOST_OUTCOME_TRY(auto text, part.text("text"));
    if (!text) return missing(part.path("text"));
    return std::move(*text);
}

ApiResult<std::string> parse_content(const json::value& value, const std::string& path) {
    if (value.is_string()) return as_text(value, path);
    const auto* parts = value.if_array();
    if (parts == nullptr) return wrong_type(path, "a string or an array of content parts", kind_name(value));
    std::string content;
    for (std::size_t i = 0; i < parts->size(); ++i) {
        BOOST_OUTCOME_TRY(const auto text, parse_part((*parts)[i], indexed(path, i)));
        if (i > 0) content += '\n';
        content += text;
    }
    return content;
}

ApiResult<Message> parse_message(const json::value& value, const std::string& path) {
    if (!value.is_object()) return wrong_type(path, "an object", kind_name(value));
    const Fields fields(value.get_object(), path);
    BOOST_OUTCOME_TRY(const auto role_name, fields.text("role"));
    if (!role_name) return missing(fields.path("role"));
    const auto role = std::ranges::find(roles, std::string_view(*role_name), &std::pair<std::string_view, Role>::first);
    if (role == roles.end())
        return out_of_range(fields.path("role"), *role_name, "one of system, developer, user, assistant, tool");
    for (const std::string_view key : {"tool_calls", "function_call", "audio"}) {
        BOOST_OUTCOME_TRY(refuse_if(asks_for_something(fields.find(key)), fields, key, {}));
    }
    const auto* content = fields.find("content");
    if (content == nullptr) return missing(fields.path("content"));
    BOOST_OUTCOME_TRY(auto text, parse_content(*content, fields.path("content")));
    return Message{role->second, std::move(text)};
}

ApiResult<std::vector<Message>> parse_messages(const Fields& fields, const Limits& limits) {
    const auto* value = fields.find("messages");
    if (value == nullptr) return missing("messages");
    const auto* list = value->if_array();
    if (list == nullptr) return wrong_type("messages", "an array", kind_name(*value));
    if (list->empty() || list->size() > limits.messages_max)
        return out_of_range("messages", std::to_string(list->size()) + " messages",
                            "1 to " + std::to_string(limits.messages_max) + " messages");
    std::vector<Message> messages;
    messages.reserve(list->size());
    for (std::size_t i = 0; i < list->size(); ++i) {
        BOOST_OUTCOME_TRY(auto message, parse_message((*list)[i], indexed("messages", i)));
        messages.push_back(std::move(message));
    }
    return messages;
}

using Prompt = std::variant<std::string, std::vector<std::uint32_t>>;

ApiResult<std::vector<std::uint32_t>> parse_token_ids(const json::array& list, const std::string& path) {
    std::vector<std::uint32_t> ids;
    ids.reserve(list.size());
    for (std::size_t i = 0; i < list.size(); ++i) {
        const auto* id = list[i].if_int64();
        if (id == nullptr) return wrong_type(indexed(path, i), "a token id", kind_name(list[i]));
        if (*id < 0 || *id > std::numeric_limits<std::uint32_t>::max())
            return out_of_range(indexed(path, i), std::to_string(*id), "from 0 to 4294967295");
        ids.push_back(static_cast<std::uint32_t>(*id));
    }
    return ids;
}

ApiResult<Prompt> parse_prompt(const Fields& fields) {
    constexpr std::string_view expected = "a string, an array of one string, or an array of token ids";
    const auto* value = fields.find("prompt");
    if (value == nullptr) return missing("prompt");
    if (value->is_string()) return Prompt(std::string(value->get_string()));
    const auto* list = value->if_array();
    if (list == nullptr) return wrong_type("prompt", expected, kind_name(*value));
    if (list->empty()) return out_of_range("prompt", "an empty array", "not empty");
    const json::value& first = list->front();
    if (first.is_number()) {
        BOOST_OUTCOME_TRY(auto ids, parse_token_ids(*list, "prompt"));
        return Prompt(std::move(ids));
    }
    if (!first.is_string() && !first.is_array()) return wrong_type("prompt[0]", expected, kind_name(first));
    if (list->size() > 1) return unsupported_parameter("prompt", "only one prompt a request is supported");
    if (first.is_string()) return Prompt(std::string(first.get_string()));
    if (first.get_array().empty()) return out_of_range("prompt[0]", "an empty array", "not empty");
    BOOST_OUTCOME_TRY(auto ids, parse_token_ids(first.get_array(), "prompt[0]"));
    return Prompt(std::move(ids));
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

std::string_view to_string(Role role) {
    return std::ranges::find(roles, role, &std::pair<std::string_view, Role>::second)->first;
}

ApiResult<ChatRequest> parse_chat(std::string_view body, const Limits& limits) {
    BOOST_OUTCOME_TRY(const auto value, parse_object(body, limits.body_bytes_max));
    const Fields fields(value.get_object(), {});
    ChatRequest request;
    BOOST_OUTCOME_TRY(request.options, parse_options(fields, limits));
    BOOST_OUTCOME_TRY(request.messages, parse_messages(fields, limits));
    BOOST_OUTCOME_TRY(refuse_unsupported_in_chat(fields));
    return request;
}

ApiResult<CompletionRequest> parse_completion(std::string_view body, const Limits& limits) {
    BOOST_OUTCOME_TRY(const auto value, parse_object(body, limits.body_bytes_max));
    const Fields fields(value.get_object(), {});
    CompletionRequest request;
    BOOST_OUTCOME_TRY(request.options, parse_options(fields, limits));
    BOOST_OUTCOME_TRY(request.prompt, parse_prompt(fields));
    BOOST_OUTCOME_TRY(refuse_unsupported_in_completion(fields));
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
