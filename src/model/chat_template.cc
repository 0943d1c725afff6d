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

// One message, its role as the template knows it.
struct Turn {
    std::string_view role;
    std::string_view content;
    bool is_open = false;  // the answer continues it
};

void write_chatml(std::span<const Turn> turns, std::string_view default_system, Script& script) {
    if (!default_system.empty() && turns.front().role != "system")
        script.markup("<|im_start|>system\n" + std::string(default_system) + "<|im_end|>\n");
    for (const Turn& turn : turns) {
        script.markup("<|im_start|>" + std::string(turn.role) + "\n");
        script.plain(turn.content);
        if (!turn.is_open) script.markup("<|im_end|>\n");
    }
}

void write_llama3(std::span<const Turn> turns, Script& script) {
    for (const Turn& turn : turns) {
        script.markup("<|start_header_id|>" + std::string(turn.role) + "<|end_header_id|>\n\n");
        script.plain(turn.is_open ? turn.content : trim(turn.content));
        if (!turn.is_open) script.markup("<|eot_id|>");
    }
}

void write_zephyr(std::span<const Turn> turns, const std::string& end, Script& script) {
    for (const Turn& turn : turns) {
        script.markup("<|" + std::string(turn.role) + "|>\n");
        script.plain(turn.content);
        if (!turn.is_open) script.markup(end + "\n");
    }
}

// The system's texts go inside the user's turn that follows them: the format has no place of their own for them.
class InstWriter {
  public:
    InstWriter(bool sys_markup, const Tokenizer& tokenizer, Script& script)
        : sys_markup_(sys_markup), tokenizer_(tokenizer), script_(script) {}

    Result<void> write(std::span<const Turn> turns) {
        for (const Turn& turn : turns) {
            if (turn.role == "system") {
                system_.push_back(turn.content);
            } else if (turn.role == "user") {
                user(turn);
            } else if (turn.role == "assistant") {
                assistant(turn);
            } else {
                return error(errc::message_invalid,
                             "role '" + std::string(turn.role) + "': one of system, user, assistant");
            }
        }
        if (!system_.empty()) return error(errc::message_invalid, "a system message without a user message after it");
        return success();
    }

  private:
    std::string name(std::optional<TokenId> token) const {
        return token ? std::string(tokenizer_.spelling(*token)) : std::string();
    }

    void user(const Turn& turn) {
        // Llama 2 opens every turn with the beginning-of-text token; the first is added with the prompt's.
        script_.markup(sys_markup_ && !first_ ? name(tokenizer_.bos()) + "[INST] " : "[INST] ");
        if (!system_.empty() && sys_markup_) script_.markup("<<SYS>>\n");
        for (std::size_t i = 0; i < system_.size(); ++i) {
            if (i > 0) script_.markup("\n\n");
            script_.plain(trim(system_[i]));
        }
        if (!system_.empty()) script_.markup(sys_markup_ ? "\n<</SYS>>\n\n" : "\n\n");
        system_.clear();
        first_ = false;
        script_.plain(turn.is_open ? turn.content : trim(turn.content));
        if (!turn.is_open) script_.markup(" [/INST]");
    }

    void assistant(const Turn& turn) {
        script_.markup(" ");
        script_.plain(turn.is_open ? turn.content : trim(turn.content));
        if (!turn.is_open) script_.markup((sys_markup_ ? " " : "") + name(tokenizer_.eos()));
    }

    const bool sys_markup_;
    const Tokenizer& tokenizer_;
    Script& script_;
    std::vector<std::string_view> system_;
    bool first_ = true;
};

bool is_role(std::string_view role) {
    return !role.empty() && role.size() <= 64 && std::ranges::all_of(role, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
    });
}

bool is_name(std::string_view text) {
    return !text.empty() && text.size() <= 40 && std::ranges::all_of(text, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    });
}

// All of `open`name`close` in the program, each once.
void collect_markup(std::string_view program, std::string_view open, std::string_view close,
                    std::vector<std::string>& out) {
    for (std::size_t at = program.find(open); at != program.npos; at = program.find(open, at + 1)) {
        const std::string_view rest = program.substr(at + open.size());
        const std::string_view name = rest.substr(0, rest.find(close));
        if (name.size() == rest.size() || !is_name(name)) continue;
        std::string text = std::string(open) + std::string(name) + std::string(close);
        if (std::ranges::find(out, text) == out.end()) out.push_back(std::move(text));
    }
}

// Markup of tools, images and padding, which no prompt here has, and what all families write or end with.
bool is_harmless(std::string_view markup) {
    for (const std::string_view part :
         {"tool",       "function",    "vision", "image",      "video",    "audio",     "pad",
          "object_ref", "box",         "quad",   "fim_",       "file_sep", "repo_name", "begin_of_text",
          "endoftext",  "end_of_text", "eom_id", "python_tag", "TOOL",     "IMG",       "startoftext"})
        if (contains(markup, part)) return true;
    return false;
}

std::span<const std::string_view> markup_of(ChatFamily family) {
    static constexpr std::string_view chatml[] = {"<|im_start|>", "<|im_end|>"};
    static constexpr std::string_view llama3[] = {"<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"};
    static constexpr std::string_view inst[] = {"[INST]"};
    static constexpr std::string_view zephyr[] = {"<|user|>", "<|assistant|>", "<|system|>", "<|end|>"};
    switch (family) {
        case ChatFamily::chatml:
            return chatml;
        case ChatFamily::llama3:
            return llama3;
        case ChatFamily::inst:
            return inst;
        case ChatFamily::zephyr:
            return zephyr;
    }
    return {};
}

// Whether answers begin inside <think>, which no family writes. An empty pair is for those who ask for no thinking.
bool opens_thinking(std::string_view program) {
    const std::size_t prompt = program.rfind("add_generation_prompt");
    for (std::size_t at = program.find("<think>"); at != program.npos; at = program.find("<think>", at + 1)) {
        const std::string_view behind = program.substr(at + 7);
        const bool is_empty_pair = behind.starts_with("\\n\\n</think>") || behind.starts_with("\n\n</think>") ||
                                   behind.starts_with("</think>");
        const std::string_view before = program.substr(0, at);
        const bool begins_turn = before.ends_with("assistant\\n") || before.ends_with("assistant\n") ||
                                 before.ends_with("assistant|>\\n") || before.ends_with("assistant|>");
        if (!is_empty_pair && (begins_turn || (prompt != program.npos && at > prompt))) return true;
    }
    return false;
}

// Markup that stands where the family writes something else, so that its prompts are wrong for certain.
std::string_view wrong_markup(std::string_view program) {
    for (const std::string_view markup : {"<|im_sep|>", "[SYSTEM_PROMPT]", "[gMASK]"})
        if (contains(program, markup)) return markup;
    return opens_thinking(program) ? "<think> where answers begin" : "";
}

}  // namespace

Result<ChatTemplate> ChatTemplate::make(const Gguf& gguf) {
    auto program = gguf.get_string("tokenizer.chat_template");
    if (!program) program = gguf.get_string("tokenizer.chat_template.default");
    if (!program || trim(*program).empty())
        return error(errc::metadata_missing, "tokenizer.chat_template: a string that is not empty");
    ChatTemplate out;
    out.has_developer_ = contains(*program, "developer");
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
    if (const std::string_view wrong = wrong_markup(*program); !wrong.empty())
        return error(errc::template_unsupported, "tokenizer.chat_template: it has " + std::string(wrong));
    std::vector<std::string> markup;
    collect_markup(*program, "<|", "|>", markup);
    collect_markup(*program, "[", "]", markup);
    for (std::string& text : markup) {
        // Jinja has brackets of its own.
        const bool is_index =
            text.front() == '[' && std::ranges::none_of(text, [](char c) { return c >= 'A' && c <= 'Z'; });
        if (!is_index && !is_harmless(text) && std::ranges::count(markup_of(out.family_), text) == 0)
            out.unknown_markup_.push_back(std::move(text));
    }
    return out;
}

std::vector<std::string> ChatTemplate::plain_markup(const Tokenizer& tokenizer) const {
    std::vector<std::string> plain;
    // The others are written as text by many a model that was trained so.
    if (family_ != ChatFamily::chatml && family_ != ChatFamily::llama3) return plain;
    for (const std::string_view markup : markup_of(family_))
        if (!tokenizer.find_special(markup)) plain.emplace_back(markup);
    return plain;
}

Result<std::vector<TokenId>> ChatTemplate::render(const Tokenizer& tokenizer, std::span<const ChatMessage> messages,
                                                  PromptEnd end, std::size_t tokens_max) const {
    if (messages.empty()) return error(errc::message_invalid, "no messages");
    std::vector<Turn> turns;
    turns.reserve(messages.size());
    for (std::size_t i = 0; i < messages.size(); ++i) {
        if (!is_role(messages[i].role))
            return error(errc::message_invalid,
                         "role of message " + std::to_string(i) + ": 1 to 64 letters, digits, '_' and '-'");
        const bool is_system = messages[i].role == "developer" && !has_developer_;
        turns.push_back({is_system ? std::string_view("system") : messages[i].role, messages[i].content});
    }
    turns.back().is_open = end == PromptEnd::continues_last;
    const bool opens_answer = end == PromptEnd::opens_answer;
    Script script;
    switch (family_) {
        case ChatFamily::chatml:
            write_chatml(turns, default_system_, script);
            if (opens_answer) script.markup("<|im_start|>assistant\n");
            break;
        case ChatFamily::llama3:
            write_llama3(turns, script);
            if (opens_answer) script.markup("<|start_header_id|>assistant<|end_header_id|>\n\n");
            break;
        case ChatFamily::inst: {
            EXA_TRY(InstWriter(sys_markup_, tokenizer, script).write(turns));
            break;
        }
        case ChatFamily::zephyr: {
            const auto eos = tokenizer.eos();
            write_zephyr(turns, !end_.empty() || !eos ? end_ : std::string(tokenizer.spelling(*eos)), script);
            if (opens_answer) script.markup("<|assistant|>\n");
            break;
        }
    }
    return tokenizer.encode(script.segments(), true, tokens_max);
}

}  // namespace exa::model
