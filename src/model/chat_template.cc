#include "model/chat_template.h"

#include <algorithm>
#include <deque>

#include "model/errc.h"

namespace exa::model {

namespace {

bool contains(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

std::string_view trim(std::string_view text) {
    constexpr std::string_view white = " \t\r\n\v\f";
    const std::size_t begin = text.find_first_not_of(white);
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(white) - begin + 1);
}

// A conversation as segments: markup is read for control tokens, a client's text is not.
class Script {
  public:
    void markup(std::string text) {
        owned_.push_back(std::move(text));
        segments_.push_back({owned_.back(), true});
    }
    // `text` must outlive this object.
    void plain(std::string_view text) { segments_.push_back({text, false}); }

    std::span<const TextSegment> segments() const { return segments_; }

  private:
    std::deque<std::string> owned_;  // whose strings never move
    std::vector<TextSegment> segments_;
};

// The literal between <|im_start|>system and <|im_end|> in a ChatML program, when it has one. Such a literal stands for
// the message the program adds by itself; where the system's own message goes there are quotes and variables instead.
std::string find_default_system(std::string_view program) {
    constexpr std::string_view open = "<|im_start|>system";
    constexpr std::string_view close = "<|im_end|>";
    for (std::size_t at = program.find(open); at != std::string_view::npos; at = program.find(open, at + 1)) {
        std::string_view rest = program.substr(at + open.size());
        if (rest.starts_with("\\n"))
            rest.remove_prefix(2);
        else if (rest.starts_with('\n'))
            rest.remove_prefix(1);
        else
            continue;
        const std::string_view text = rest.substr(0, rest.find(close));
        if (text.size() == rest.size() || text.empty() || text.find_first_of("'\"{}\\") != std::string_view::npos)
            continue;
        return std::string(text);
    }
    return {};
}

void write_chatml(std::span<const ChatMessage> messages, std::string_view default_system, Script& script) {
    if (!default_system.empty() && messages.front().role != "system")
        script.markup("<|im_start|>system\n" + std::string(default_system) + "<|im_end|>\n");
    for (const ChatMessage& message : messages) {
        script.markup("<|im_start|>" + message.role + "\n");
        script.plain(message.content);
        script.markup("<|im_end|>\n");
    }
}

void write_llama3(std::span<const ChatMessage> messages, Script& script) {
    for (const ChatMessage& message : messages) {
        script.markup("<|start_header_id|>" + message.role + "<|end_header_id|>\n\n");
        script.plain(trim(message.content));
        script.markup("<|eot_id|>");
    }
}

void write_zephyr(std::span<const ChatMessage> messages, const std::string& end, Script& script) {
    for (const ChatMessage& message : messages) {
        script.markup("<|" + message.role + "|>\n");
        script.plain(message.content);
        script.markup(end + "\n");
    }
}

// The system's text goes inside the user's turn that follows it: the format has no place of its own for it.
Result<void> write_inst(std::span<const ChatMessage> messages, bool sys_markup, const Tokenizer& tokenizer,
                        Script& script) {
    const auto name = [&](std::optional<TokenId> token) {
        return token ? std::string(tokenizer.spelling(*token)) : std::string();
    };
    const ChatMessage* system = nullptr;
    bool first_turn = true;
    for (const ChatMessage& message : messages) {
        if (message.role == "system") {
            if (system != nullptr) return error(errc::message_invalid, "two system messages before one of the user");
            system = &message;
        } else if (message.role == "user") {
            // Llama 2 opens every turn with the beginning-of-text token; the first is added with the prompt's.
            script.markup(sys_markup && !first_turn ? name(tokenizer.bos()) + "[INST] " : "[INST] ");
            if (system != nullptr) {
                if (sys_markup) script.markup("<<SYS>>\n");
                script.plain(trim(system->content));
                script.markup(sys_markup ? "\n<</SYS>>\n\n" : "\n\n");
                system = nullptr;
            }
            script.plain(trim(message.content));
            script.markup(" [/INST]");
            first_turn = false;
        } else if (message.role == "assistant") {
            script.markup(" ");
            script.plain(trim(message.content));
            script.markup((sys_markup ? " " : "") + name(tokenizer.eos()));
        } else {
            return error(errc::message_invalid, "role '" + message.role + "': one of system, user, assistant");
        }
    }
    if (system != nullptr) return error(errc::message_invalid, "a system message without a user message after it");
    return success();
}

bool is_role(std::string_view role) {
    return !role.empty() && role.size() <= 64 && std::ranges::all_of(role, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
    });
}

}  // namespace

Result<ChatTemplate> ChatTemplate::make(const Gguf& gguf) {
    const auto program = gguf.get_string("tokenizer.chat_template");
    if (!program) return error(errc::metadata_missing, "tokenizer.chat_template: a string");
    ChatTemplate out;
    if (contains(*program, "<|im_start|>")) {
        out.family_ = ChatFamily::chatml;
        out.default_system_ = find_default_system(*program);
    } else if (contains(*program, "<|start_header_id|>")) {
        out.family_ = ChatFamily::llama3;
    } else if (contains(*program, "[INST]")) {
        out.family_ = ChatFamily::inst;
        out.sys_markup_ = contains(*program, "<<SYS>>");
    } else if (contains(*program, "<|user|>")) {
        out.family_ = ChatFamily::zephyr;
        for (const std::string_view end : {"<|end|>", "<|endoftext|>", "</s>"}) {
            if (!contains(*program, end)) continue;
            out.end_ = end;
            break;
        }
    } else {
        return error(errc::template_unsupported,
                     "tokenizer.chat_template: none of <|im_start|>, <|start_header_id|>, [INST], <|user|> is in it");
    }
    return out;
}

Result<std::vector<TokenId>> ChatTemplate::render(const Tokenizer& tokenizer, std::span<const ChatMessage> messages,
                                                  bool opens_answer) const {
    if (messages.empty()) return error(errc::message_invalid, "no messages");
    for (std::size_t i = 0; i < messages.size(); ++i)
        if (!is_role(messages[i].role))
            return error(errc::message_invalid,
                         "role of message " + std::to_string(i) + ": 1 to 64 letters, digits, '_' and '-'");
    Script script;
    switch (family_) {
        case ChatFamily::chatml:
            write_chatml(messages, default_system_, script);
            if (opens_answer) script.markup("<|im_start|>assistant\n");
            break;
        case ChatFamily::llama3:
            write_llama3(messages, script);
            if (opens_answer) script.markup("<|start_header_id|>assistant<|end_header_id|>\n\n");
            break;
        case ChatFamily::inst: {
            EXA_TRY(write_inst(messages, sys_markup_, tokenizer, script));
            break;
        }
        case ChatFamily::zephyr: {
            const auto eos = tokenizer.eos();
            write_zephyr(messages, !end_.empty() || !eos ? end_ : std::string(tokenizer.spelling(*eos)), script);
            if (opens_answer) script.markup("<|assistant|>\n");
            break;
        }
    }
    return tokenizer.encode(script.segments(), true);
}

}  // namespace exa::model
