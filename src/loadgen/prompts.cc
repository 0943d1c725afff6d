#include "loadgen/prompts.h"

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <optional>

#include "loadgen/errc.h"
#include "openai/utf8.h"

namespace exa::loadgen {

namespace {

namespace json = boost::json;

constexpr std::array<std::string_view, 96> words = {
    "the",   "of",    "and", "to",   "in",    "is",    "that",  "for",   "it",    "as",   "was",  "with",
    "be",    "by",    "on",  "not",  "he",    "his",   "but",   "at",    "are",   "this", "have", "from",
    "or",    "had",   "an",  "they", "which", "one",   "you",   "were",  "all",   "her",  "she",  "there",
    "would", "their", "we",  "him",  "been",  "has",   "when",  "who",   "will",  "no",   "more", "if",
    "out",   "so",    "up",  "said", "what",  "its",   "about", "than",  "into",  "them", "can",  "only",
    "other", "time",  "new", "some", "could", "these", "two",   "may",   "first", "then", "do",   "any",
    "like",  "my",    "now", "over", "such",  "our",   "man",   "me",    "even",  "most", "made", "after",
    "also",  "well",  "did", "many", "must",  "years", "much",  "where", "your",  "way",  "down", "long"};

std::optional<std::string> text_in(const json::object& object, std::string_view key) {
    const auto* found = object.if_contains(key);
    const auto* text = found == nullptr ? nullptr : found->if_string();
    if (text == nullptr) return std::nullopt;
    return std::string(text->data(), text->size());
}

std::uint32_t count_in(const json::object& object, std::string_view key) {
    const auto* found = object.if_contains(key);
    const auto* number = found == nullptr ? nullptr : found->if_int64();
    return number == nullptr ? 0 : static_cast<std::uint32_t>(std::clamp<std::int64_t>(*number, 0, 1'000'000));
}

// Nothing, with `reason`, when they cannot be asked.
std::optional<Prompt> from_messages(const json::array& messages, std::string& reason) {
    const auto* last = messages.empty() ? nullptr : messages.back().if_object();
    const auto* content = last == nullptr ? nullptr : last->if_contains("content");
    if (content == nullptr || text_in(*last, "role") != "user") {
        reason = "the last of \"messages\" must be of the user and have a content";
        return std::nullopt;
    }
    Prompt prompt;
    for (std::size_t i = 0; i + 1 < messages.size(); ++i) prompt.opening += json::serialize(messages[i]) + ",";
    prompt.turns.push_back(json::serialize(*content));
    return prompt;
}

std::optional<Prompt> from_conversation(const json::array& parts, std::string& reason) {
    Prompt prompt;
    for (const json::value& part : parts) {
        const auto* object = part.if_object();
        if (object == nullptr) continue;
        const auto from = text_in(*object, "from");
        const auto value = text_in(*object, "value");
        if (value && (from == "human" || from == "user")) prompt.turns.push_back(to_json_text(*value));
    }
    if (!prompt.turns.empty()) return prompt;
    reason = "\"conversations\" has no part from \"human\"";
    return std::nullopt;
}

std::optional<Prompt> from_json(std::string_view line, std::string& reason) {
    json::error_code code;
    const json::value value = json::parse(line, code);
    const auto* object = code ? nullptr : value.if_object();
    if (object == nullptr) {
        reason = "not a JSON object (" + code.message() + ")";
        return std::nullopt;
    }
    std::optional<Prompt> prompt;
    const auto* messages = object->if_contains("messages");
    const auto* parts = object->if_contains("conversations");
    if (const auto text = text_in(*object, "prompt")) {
        prompt = Prompt{{}, {to_json_text(*text)}, 0};
    } else if (messages != nullptr && messages->is_array()) {
        prompt = from_messages(messages->get_array(), reason);
    } else if (parts != nullptr && parts->is_array()) {
        prompt = from_conversation(parts->get_array(), reason);
    } else {
        reason = "an object needs \"prompt\" (a text), \"messages\" or \"conversations\" (arrays)";
    }
    if (prompt) prompt->output_tokens = std::max(count_in(*object, "output_tokens"), count_in(*object, "max_tokens"));
    return prompt;
}

}  // namespace

std::string to_json_text(std::string_view text) {
    return json::serialize(json::string(openai::valid_utf8(text)));
}

Result<std::vector<Prompt>> parse_prompts(std::string_view text) {
    std::vector<Prompt> prompts;
    for (std::size_t number = 1; !text.empty(); ++number) {
        const auto end = text.find('\n');
        std::string_view line = text.substr(0, end);
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        if (line.ends_with('\r')) line.remove_suffix(1);
        if (line.find_first_not_of(" \t") == std::string_view::npos) continue;
        if (!line.starts_with('{')) {
            prompts.push_back({{}, {to_json_text(line)}, 0});
            continue;
        }
        std::string reason;
        auto prompt = from_json(line, reason);
        if (!prompt) return error(errc::bad_prompts, "line " + std::to_string(number) + ": " + reason);
        prompts.push_back(std::move(*prompt));
    }
    if (prompts.empty()) return error(errc::bad_prompts, "the file holds none");
    return prompts;
}

Result<void> check_prompts(std::span<const Prompt> prompts, Api api) {
    if (api == Api::chat) return success();
    for (std::size_t i = 0; i < prompts.size(); ++i) {
        const bool is_text =
            std::ranges::all_of(prompts[i].turns, [](const std::string& turn) { return turn.starts_with('"'); });
        if (prompts[i].opening.empty() && is_text) continue;
        return error(errc::bad_prompts,
                     "prompt " + std::to_string(i + 1) + " has messages or parts, which need the chat API");
    }
    return success();
}

std::string make_words(Rng& rng, std::uint32_t tokens) {
    std::string text;
    text.reserve(std::size_t{tokens} * 5);
    for (std::uint32_t i = 0; i < tokens; ++i) {
        if (i > 0) text += ' ';
        text += words[rng.below(words.size())];
    }
    return text;
}

}  // namespace exa::loadgen
