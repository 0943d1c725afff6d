// ChatTemplate: how a model wants a conversation written.
//
// Templates are Jinja programs; a few families cover what Llama-like models use, and the family is chosen by the markup
// the program contains. A program with markup that would make its prompts differ for certain is refused, one with
// markup nobody knows is doubted. What a client wrote stays text: only our own markup is read for control tokens, so no
// message can open a turn of its own.
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

// What stands behind the last message of a prompt.
enum class PromptEnd : std::uint8_t {
    opens_answer,    // the opening of the assistant's turn (inst has none)
    continues_last,  // nothing, nor is the last message's turn closed or its text trimmed
    nothing,
};

class ChatTemplate {
  public:
    // From tokenizer.chat_template, or the one named default. errc::metadata_missing when the file has none,
    // template_unsupported when it is of no known family, or writes what its family does not.
    static Result<ChatTemplate> make(const Gguf& gguf);

    ChatFamily family() const { return family_; }
    // What the template says by itself when the first message is not the system's; empty for nothing.
    std::string_view default_system() const { return default_system_; }
    // Markup of the template that the family does not know: prompts may differ from what the model was trained with.
    const std::vector<std::string>& unknown_markup() const { return unknown_markup_; }

    // Markup that is no control token of this vocabulary although the family's always is: turns have no clear ends
    // then.
    std::vector<std::string> plain_markup(const Tokenizer& tokenizer) const;

    // The prompt. A developer's messages are the system's, unless the template speaks of developers itself.
    // errc::message_invalid when there are none, a role is malformed, or (inst) is not one of system, user and
    // assistant. More than `tokens_max` tokens are the first of them, as of Tokenizer::encode().
    Result<std::vector<TokenId>> render(const Tokenizer& tokenizer, std::span<const ChatMessage> messages,
                                        PromptEnd end = PromptEnd::opens_answer,
                                        std::size_t tokens_max = all_tokens) const;

  private:
    ChatTemplate() = default;

    ChatFamily family_ = ChatFamily::chatml;
    std::string default_system_;  // chatml
    bool sys_markup_ = false;     // inst: <<SYS>>
    bool has_developer_ = false;
    std::string end_;  // zephyr; empty for the tokenizer's end of text
    std::vector<std::string> unknown_markup_;
};

}  // namespace exa::model
