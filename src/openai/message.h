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

// `messages` of a chat, not empty. Only text: parts and calls of another kind are refused by their path. An assistant's
// content may be null or absent, it is empty then.
ApiResult<std::vector<Message>> parse_messages(const Fields& fields, const Limits& limits);

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
