// ChatTemplate: how a model wants a conversation written.
//
// Templates are Jinja programs; a few families cover what Llama-like models use, and the family is chosen by the markup
// the program contains. What a client wrote stays text: only our own markup is read for control tokens, so no message
// can open a turn of its own.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/gguf.h"
#include "model/tokenizer.h"

namespace exa::model {

struct ChatMessage {
    std::string role;  // letters, digits, '_' and '-'
    std::string content;
};

enum class ChatFamily : std::uint8_t {
    chatml,  // <|im_start|>role\ncontent<|im_end|>\n
    llama3,  // <|start_header_id|>role<|end_header_id|>\n\ncontent<|eot_id|>
    inst,    // [INST] user [/INST] assistant</s>: Llama 2 (with <<SYS>>) and Mistral
    zephyr,  // <|role|>\ncontent</s>\n, or another end token
};

class ChatTemplate {
  public:
    // From tokenizer.chat_template. errc::metadata_missing when the file has none, template_unsupported when it is of
    // no known family.
    static Result<ChatTemplate> make(const Gguf& gguf);

    ChatFamily family() const { return family_; }
    // What the template says by itself when the first message is not the system's; empty for nothing.
    std::string_view default_system() const { return default_system_; }

    // The prompt: all messages, then the opening of the assistant's turn if `opens_answer` (inst has none).
    // errc::message_invalid when there are none, a role is malformed, or (inst) is not one of system, user and
    // assistant.
    Result<std::vector<TokenId>> render(const Tokenizer& tokenizer, std::span<const ChatMessage> messages,
                                        bool opens_answer = true) const;

  private:
    ChatTemplate() = default;

    ChatFamily family_ = ChatFamily::chatml;
    std::string default_system_;  // chatml
    bool sys_markup_ = false;     // inst: <<SYS>>
    std::string end_;             // zephyr; empty for the tokenizer's end of text
};

}  // namespace exa::model
