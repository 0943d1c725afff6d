#include "openai/message.h"

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/outcome/try.hpp>
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

constexpr PartType chat_parts[] = {{"text", "text"}, {"refusal", "refusal"}};

ApiResult<std::string> parse_part(const json::value& value, const std::string& path, std::span<const PartType> types) {
    if (!value.is_object()) return wrong_type(path, "an object", kind_name(value));
    const Fields part(value.get_object(), path);
    BOOST_OUTCOME_TRY(const auto type, part.text("type"));
    if (!type) return missing(part.path("type"));
    const auto known = std::ranges::find(types, std::string_view(*type), &PartType::type);
    if (known == types.end())
        return unsupported_parameter(part.path("type"), "only content parts of text are supported, such as \"" +
                                                            std::string(types.front().type) + "\"");
    BOOST_OUTCOME_TRY(auto text, part.text(known->key));
    if (!text) return missing(part.path(known->key));
    return std::move(*text);
}

ApiResult<Message> parse_message(const json::value& value, const std::string& path, bool is_last) {
    if (!value.is_object()) return wrong_type(path, "an object", kind_name(value));
    const Fields fields(value.get_object(), path);
    Message message;
    BOOST_OUTCOME_TRY(message.role, parse_role(fields));
    BOOST_OUTCOME_TRY(refuse_unsupported(fields, Endpoint::messages));
    BOOST_OUTCOME_TRY(const auto prefix, fields.boolean("prefix"));
    if (prefix.value_or(false) && !(is_last && message.role == Role::assistant))
        return unsupported_parameter(fields.path("prefix"), "only of an assistant's message that is the last");
    if (message.role == Role::assistant && fields.find("content") == nullptr) return message;
    BOOST_OUTCOME_TRY(message.content, parse_content(fields, chat_parts));
    return message;
}

ApiResult<PromptEnd> parse_end(const Fields& fields, const std::vector<Message>& messages) {
    BOOST_OUTCOME_TRY(const auto continues, fields.boolean("continue_final_message"));
    BOOST_OUTCOME_TRY(const auto opens, fields.boolean("add_generation_prompt"));
    if (continues.value_or(false) && opens.value_or(false))
        return out_of_range("continue_final_message", "true", "false where add_generation_prompt is true");
    if (continues.value_or(false)) return PromptEnd::continues_last;
    if (opens) return *opens ? PromptEnd::opens_answer : PromptEnd::nothing;
    return continues ? PromptEnd::opens_answer : default_end(messages);
}

}  // namespace

std::string_view to_string(Role role) {
    return std::ranges::find(roles, role, &std::pair<std::string_view, Role>::second)->first;
}

ApiResult<Role> parse_role(const Fields& message) {
    BOOST_OUTCOME_TRY(const auto name, message.text("role"));
    if (!name) return missing(message.path("role"));
    const auto role = std::ranges::find(roles, std::string_view(*name), &std::pair<std::string_view, Role>::first);
    if (role == roles.end())
        return out_of_range(message.path("role"), *name, "one of system, developer, user, assistant, tool");
    return role->second;
}

ApiResult<std::string> parse_content(const Fields& message, std::span<const PartType> types) {
    const std::string path = message.path("content");
    const auto* value = message.find("content");
    if (value == nullptr) return missing(path);
    if (value->is_string()) return as_text(*value, path);
    const auto* parts = value->if_array();
    if (parts == nullptr) return wrong_type(path, "a string or an array of content parts", kind_name(*value));
    std::string content;
    for (std::size_t i = 0; i < parts->size(); ++i) {
        BOOST_OUTCOME_TRY(const auto text, parse_part((*parts)[i], indexed(path, i), types));
        if (i > 0) content += '\n';
        content += text;
    }
    return content;
}

PromptEnd default_end(const std::vector<Message>& messages) {
    return messages.back().role == Role::assistant ? PromptEnd::continues_last : PromptEnd::opens_answer;
}

ApiResult<Conversation> parse_conversation(const Fields& fields, const Limits& limits) {
    const auto* value = fields.find("messages");
    if (value == nullptr) return missing("messages");
    const auto* list = value->if_array();
    if (list == nullptr) return wrong_type("messages", "an array", kind_name(*value));
    if (list->empty() || list->size() > limits.messages_max)
        return out_of_range("messages", std::to_string(list->size()) + " messages",
                            "1 to " + std::to_string(limits.messages_max) + " messages");
    Conversation conversation;
    conversation.messages.reserve(list->size());
    for (std::size_t i = 0; i < list->size(); ++i) {
        BOOST_OUTCOME_TRY(auto message, parse_message((*list)[i], indexed("messages", i), i + 1 == list->size()));
        conversation.messages.push_back(std::move(message));
    }
    BOOST_OUTCOME_TRY(conversation.end, parse_end(fields, conversation.messages));
    return conversation;
}

}  // namespace exa::openai
