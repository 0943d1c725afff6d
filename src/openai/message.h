// Messages of a conversation, as requests carry them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "openai/error.h"
#include "openai/options.h"

namespace exa::openai {

enum class Role : std::uint8_t { system, developer, user, assistant, tool };

std::string_view to_string(Role role);

struct Message {
    Role role = Role::user;
    std::string content;  // UTF-8; text parts are joined by a newline
    bool operator==(const Message&) const = default;
};

// What stands behind the last message of a prompt.
enum class PromptEnd : std::uint8_t {
    opens_answer,    // the opening of the assistant's turn
    continues_last,  // nothing, nor is the last message's turn closed
    nothing,
};

struct Conversation {
    std::vector<Message> messages;  // not empty
    PromptEnd end = PromptEnd::opens_answer;
};

// `messages` and what says how the prompt ends. Only text: parts and calls of another kind are refused by their path.
// An assistant's content may be null or absent, it is empty then.
//
// An assistant's last message is continued, as by llama.cpp's server, unless continue_final_message is false or
// add_generation_prompt is true, which open a turn of the assistant's own, as vLLM does.
ApiResult<Conversation> parse_conversation(const Fields& fields, const Limits& limits);

// How a prompt of these messages ends where no field says it.
PromptEnd default_end(const std::vector<Message>& messages);

// The `role` of one message.
ApiResult<Role> parse_role(const Fields& message);

// A part of `content`: its type, and the key its text stands under.
struct PartType {
    std::string_view type;
    std::string_view key;
};

// The `content` of one message: a string, or an array of parts of these types.
ApiResult<std::string> parse_content(const Fields& message, std::span<const PartType> types);

}  // namespace exa::openai
