#include "openai/responses_request.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <boost/outcome/try.hpp>
#include <utility>

#include "openai/json.h"

namespace exa::openai {

namespace {

namespace json = boost::json;

constexpr PartType input_parts[] = {
    {"input_text", "text"}, {"output_text", "text"}, {"text", "text"}, {"refusal", "refusal"}};
constexpr std::string_view logprobs_include = "message.output_text.logprobs";
constexpr std::size_t metadata_max = 16;  // members, as the API says

ApiResult<void> check_text_format(const Fields& fields) {
    const auto* text = fields.find("text");
    if (text == nullptr) return boost::outcome_v2::success();
    if (!text->is_object()) return wrong_type("text", "an object", kind_name(*text));
    const auto* format = Fields(text->get_object(), "text").find("format");
    if (format == nullptr) return boost::outcome_v2::success();
    if (!format->is_object()) return wrong_type("text.format", "an object", kind_name(*format));
    BOOST_OUTCOME_TRY(const auto type, Fields(format->get_object(), "text.format").text("type"));
    if (type.value_or("text") != "text")
        return unsupported_parameter("text.format", "only the type \"text\" is supported");
    return boost::outcome_v2::success();
}

ApiResult<std::optional<std::uint32_t>> parse_logprobs(const Fields& fields, const Features& features) {
    BOOST_OUTCOME_TRY(const auto top, parse_count(fields, "top_logprobs"));
    const auto* include = fields.find("include");
    if (include == nullptr) return std::optional<std::uint32_t>();
    if (!include->is_array()) return wrong_type("include", "an array", kind_name(*include));
    const auto wants = [](const json::value& value) {
        return value.is_string() && std::string_view(value.get_string()) == logprobs_include;
    };
    if (std::ranges::none_of(include->get_array(), wants)) return std::optional<std::uint32_t>();
    if (!features.logprobs)
        return unsupported_parameter("include", "the engine behind this model does not support logprobs");
    return std::optional<std::uint32_t>(top.value_or(0));
}

ApiResult<std::string> parse_metadata(const Fields& fields) {
    const auto* metadata = fields.find("metadata");
    if (metadata == nullptr) return std::string("{}");
    const auto* object = metadata->if_object();
    if (object == nullptr) return wrong_type("metadata", "an object", kind_name(*metadata));
    if (object->size() > metadata_max)
        return out_of_range("metadata", std::to_string(object->size()) + " members", "at most 16 members");
    for (const auto& member : *object) {
        const std::string key(member.key().data(), member.key().size());
        if (!member.value().is_string()) return wrong_type("metadata." + key, "a string", kind_name(member.value()));
    }
    return json::serialize(*object);
}

// An input that does not fit is refused in either mode.
ApiResult<std::string> parse_truncation_mode(const Fields& fields) {
    BOOST_OUTCOME_TRY(auto mode, fields.text("truncation"));
    if (!mode) return std::string("disabled");
    if (*mode != "disabled" && *mode != "auto") return out_of_range("truncation", *mode, "\"disabled\" or \"auto\"");
    return std::move(*mode);
}

ApiResult<Message> parse_item(const json::value& value, const std::string& path) {
    if (!value.is_object()) return wrong_type(path, "an object", kind_name(value));
    const Fields fields(value.get_object(), path);
    BOOST_OUTCOME_TRY(const auto type, fields.text("type"));
    if (type.value_or("message") != "message")
        return unsupported_parameter(fields.path("type"), "only items of the type \"message\" are supported");
    Message message;
    BOOST_OUTCOME_TRY(message.role, parse_role(fields));
    BOOST_OUTCOME_TRY(message.content, parse_content(fields, input_parts));
    return message;
}

ApiResult<void> parse_input(const Fields& fields, const Limits& limits, std::vector<Message>& messages) {
    const auto* value = fields.find("input");
    if (value == nullptr) return missing("input");
    if (const auto* text = value->if_string()) {
        messages.push_back({Role::user, std::string(text->data(), text->size())});
        return boost::outcome_v2::success();
    }
    const auto* list = value->if_array();
    if (list == nullptr) return wrong_type("input", "a string or an array of messages", kind_name(*value));
    if (list->empty() || list->size() > limits.messages_max)
        return out_of_range("input", std::to_string(list->size()) + " items",
                            "1 to " + std::to_string(limits.messages_max) + " items");
    for (std::size_t i = 0; i < list->size(); ++i) {
        BOOST_OUTCOME_TRY(auto message, parse_item((*list)[i], indexed("input", i)));
        messages.push_back(std::move(message));
    }
    return boost::outcome_v2::success();
}

}  // namespace

ApiResult<ResponsesRequest> parse_responses(std::string_view body, const Limits& limits, const Features& features) {
    BOOST_OUTCOME_TRY(const auto value, parse_object(body, limits.body_bytes_max));
    const Fields fields(value.get_object(), {});
    BOOST_OUTCOME_TRY(refuse_unsupported(fields, Endpoint::responses));
    BOOST_OUTCOME_TRY(check_text_format(fields));
    ResponsesRequest request;
    Options& options = request.options;
    BOOST_OUTCOME_TRY(options.model, parse_model(fields));
    BOOST_OUTCOME_TRY(const auto stream, fields.boolean("stream"));
    options.stream = stream.value_or(false);
    BOOST_OUTCOME_TRY(options.max_tokens, parse_count(fields, "max_output_tokens"));
    BOOST_OUTCOME_TRY(parse_sampling(fields, limits, features, options));
    BOOST_OUTCOME_TRY(options.logprobs, parse_logprobs(fields, features));
    BOOST_OUTCOME_TRY(options.user, fields.text("user"));
    BOOST_OUTCOME_TRY(options.prompt_cache_key, fields.text("prompt_cache_key"));
    ResponseSettings& settings = request.settings;
    BOOST_OUTCOME_TRY(settings.instructions, fields.text("instructions"));
    BOOST_OUTCOME_TRY(settings.metadata, parse_metadata(fields));
    settings.max_output_tokens = options.max_tokens;
    settings.temperature = options.temperature;
    settings.top_p = options.top_p;
    settings.top_logprobs = options.logprobs.value_or(0);
    settings.user = options.user;
    settings.prompt_cache_key = options.prompt_cache_key;
    BOOST_OUTCOME_TRY(settings.truncation, parse_truncation_mode(fields));
    std::vector<Message>& messages = request.conversation.messages;
    if (settings.instructions) messages.push_back({Role::system, *settings.instructions});
    BOOST_OUTCOME_TRY(parse_input(fields, limits, messages));
    request.conversation.end = default_end(messages);
    return request;
}

}  // namespace exa::openai
