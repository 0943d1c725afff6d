#include "app/builtin/parsed_request.h"

#include <boost/outcome/try.hpp>
#include <string_view>
#include <utility>

#include "openai/request.h"
#include "openai/tokenize.h"
#include "openai/utf8.h"

namespace exa::app::builtin {

namespace {

openai::Features features_of(const engine::Abilities& abilities) {
    openai::Features features;
    features.choices = true;
    features.echo = true;
    features.logprobs = abilities.logprobs;
    features.penalties = abilities.logit_edits;
    features.logit_bias = abilities.logit_edits;
    return features;
}

// How many tokens of a prompt or an input are wanted, and how many of its text are encoded for that at most.
struct Room {
    std::size_t tokens;  // that fit
    std::size_t encoded;
    std::optional<std::int64_t> cut;  // openai::parse_truncation()
};

Room room_of(const ParseContext& with, std::size_t tokens, std::optional<std::int64_t> cut) {
    return {tokens, cut ? cut_contexts_max * with.context_tokens : tokens, cut};
}

// Refuses what cannot fit whatever its tokens are, without encoding it.
openai::ApiResult<void> check_length(std::string_view field, std::size_t bytes, const ParseContext& with,
                                     const Room& room) {
    const std::size_t least = with.tokenizer.tokens_at_least(bytes);
    if (least <= room.encoded) return boost::outcome_v2::success();
    return openai::context_length_exceeded(field, least, with.context_tokens, openai::Counted::at_least);
}

// What is wanted of these tokens, of which there may be more in the text if there are more than room.encoded.
openai::ApiResult<Tokens> fitting(std::string_view field, Tokens tokens, const ParseContext& with, const Room& room) {
    if (tokens.size() > room.encoded)
        return openai::context_length_exceeded(field, tokens.size(), with.context_tokens, openai::Counted::at_least);
    if (room.cut) {
        const std::size_t kept = *room.cut < 0 ? room.tokens : static_cast<std::size_t>(*room.cut);
        if (tokens.size() > kept) tokens.erase(tokens.begin(), tokens.end() - static_cast<std::ptrdiff_t>(kept));
    }
    if (tokens.size() <= room.tokens) return tokens;
    return openai::context_length_exceeded(field, tokens.size(), with.context_tokens);
}

openai::ApiResult<void> check_text(std::string_view field, std::size_t bytes) {
    if (bytes <= text_bytes_max) return boost::outcome_v2::success();
    return openai::out_of_range(field, std::to_string(bytes) + " bytes of text", "at most 1 MiB in one request");
}

openai::ApiResult<void> check_ids(std::string_view field, const Tokens& ids, const ParseContext& with) {
    const std::size_t vocabulary = with.tokenizer.size();
    for (std::size_t i = 0; i < ids.size(); ++i)
        if (ids[i] >= vocabulary)
            return openai::out_of_range(openai::indexed(field, i), std::to_string(ids[i]),
                                        "a token id below " + std::to_string(vocabulary));
    return boost::outcome_v2::success();
}

model::PromptEnd to_model(openai::PromptEnd end) {
    switch (end) {
        case openai::PromptEnd::opens_answer:
            return model::PromptEnd::opens_answer;
        case openai::PromptEnd::continues_last:
            return model::PromptEnd::continues_last;
        case openai::PromptEnd::nothing:
            break;
    }
    return model::PromptEnd::nothing;
}

openai::ApiResult<Tokens> render(std::string_view field, openai::Conversation from, const ParseContext& with,
                                 std::size_t tokens_max = model::all_tokens) {
    std::vector<model::ChatMessage> messages;
    messages.reserve(from.messages.size());
    for (openai::Message& message : from.messages)
        messages.push_back({std::string(to_string(message.role)), std::move(message.content)});
    if (!with.chat_template) return openai::unsupported_parameter(field, with.no_chat_template);
    auto prompt = with.chat_template->render(with.tokenizer, messages, to_model(from.end), tokens_max);
    if (!prompt) return openai::unsupported_parameter(field, prompt.error().message());
    return std::move(prompt).value();
}

std::size_t bytes_of(const std::vector<openai::Message>& messages) {
    std::size_t bytes = 0;
    for (const openai::Message& message : messages) bytes += message.content.size();
    return bytes;
}

openai::ApiResult<Tokens> render_fitting(std::string_view field, openai::Conversation from, const ParseContext& with,
                                         std::optional<std::int64_t> cut = std::nullopt) {
    const Room room = room_of(with, with.context_tokens - 1, cut);
    BOOST_OUTCOME_TRY(check_length(field, bytes_of(from.messages), with, room));
    BOOST_OUTCOME_TRY(auto prompt, render(field, std::move(from), with, room.encoded));
    return fitting(field, std::move(prompt), with, room);
}

struct EncodeTerms {
    Room room;
    bool add_bos = true;
};

// One prompt or input of several.
openai::ApiResult<Tokens> encode(const std::string& field, openai::Prompt prompt, const ParseContext& with,
                                 const EncodeTerms& terms) {
    Tokens tokens;
    Room room = terms.room;
    if (const auto* text = std::get_if<std::string>(&prompt)) {
        BOOST_OUTCOME_TRY(check_length(field, text->size(), with, room));
        // Raw completions write their own markup; only chat messages must not be able to.
        tokens =
            with.tokenizer.encode(*text, {.add_bos = terms.add_bos, .parse_special = true, .tokens_max = room.encoded});
    } else {
        tokens = std::move(std::get<Tokens>(prompt));
        BOOST_OUTCOME_TRY(check_ids(field, tokens, with));
        room.encoded = model::all_tokens;  // these are all there are
    }
    // An empty text without a BOS token has nothing to continue.
    if (tokens.empty()) return openai::out_of_range(field, "\"\"", "at least one token long");
    return fitting(field, std::move(tokens), with, room);
}

openai::ApiResult<std::vector<Tokens>> encode_all(std::string_view field, const std::vector<openai::Prompt>& prompts,
                                                  const ParseContext& with, const EncodeTerms& terms) {
    std::size_t bytes = 0;
    for (const openai::Prompt& prompt : prompts)
        if (const auto* text = std::get_if<std::string>(&prompt)) bytes += text->size();
    // The context bounds a single one, with an error that says so.
    if (prompts.size() > 1) {
        BOOST_OUTCOME_TRY(check_text(field, bytes));
    }
    std::vector<Tokens> encoded;
    encoded.reserve(prompts.size());
    for (std::size_t i = 0; i < prompts.size(); ++i) {
        const std::string path = prompts.size() > 1 ? openai::indexed(field, i) : std::string(field);
        BOOST_OUTCOME_TRY(auto tokens, encode(path, prompts[i], with, terms));
        encoded.push_back(std::move(tokens));
    }
    return encoded;
}

openai::ApiResult<void> check_token_ids(const openai::Options& options, const ParseContext& with) {
    BOOST_OUTCOME_TRY(check_ids("stop_token_ids", options.stop_token_ids, with));
    for (const auto& [token, bias] : options.logit_bias)
        if (token >= with.tokenizer.size())
            return openai::out_of_range("logit_bias", "the token " + std::to_string(token),
                                        "of tokens below " + std::to_string(with.tokenizer.size()));
    return boost::outcome_v2::success();
}

openai::ApiResult<ParsedGeneration> parse_completion(const wire::Open& open, const ParseContext& with) {
    ParsedGeneration parsed;
    BOOST_OUTCOME_TRY(auto request, openai::parse_completion(open.body, {}, features_of(with.abilities)));
    const EncodeTerms terms = {room_of(with, with.context_tokens - 1, request.truncate_prompt_tokens),
                               request.add_special_tokens};
    BOOST_OUTCOME_TRY(parsed.prompts, encode_all("prompt", request.prompts, with, terms));
    if (request.echo) {
        for (std::size_t i = 0; i < request.prompts.size(); ++i) {
            // What was cut off is no part of the prompt.
            auto* text = request.truncate_prompt_tokens ? nullptr : std::get_if<std::string>(&request.prompts[i]);
            parsed.echo.push_back(text != nullptr ? std::move(*text)
                                                  : openai::valid_utf8(with.tokenizer.decode(parsed.prompts[i])));
        }
    }
    parsed.options = std::move(request.options);
    return parsed;
}

}  // namespace

openai::ApiResult<ParsedGeneration> parse_generation(const wire::Open& open, const ParseContext& with) {
    ParsedGeneration parsed;
    if (open.kind == wire::RequestKind::chat) {
        BOOST_OUTCOME_TRY(auto request, openai::parse_chat(open.body, {}, features_of(with.abilities)));
        BOOST_OUTCOME_TRY(auto prompt, render_fitting("messages", std::move(request.conversation), with,
                                                      request.truncate_prompt_tokens));
        parsed.prompts.push_back(std::move(prompt));
        parsed.options = std::move(request.options);
    } else if (open.kind == wire::RequestKind::response) {
        BOOST_OUTCOME_TRY(auto request, openai::parse_responses(open.body, {}, features_of(with.abilities)));
        BOOST_OUTCOME_TRY(auto prompt, render_fitting("input", std::move(request.conversation), with));
        parsed.prompts.push_back(std::move(prompt));
        parsed.options = std::move(request.options);
        parsed.response = std::move(request.settings);
    } else {
        BOOST_OUTCOME_TRY(parsed, parse_completion(open, with));
    }
    BOOST_OUTCOME_TRY(check_token_ids(parsed.options, with));
    return parsed;
}

openai::ApiResult<ParsedEmbedding> parse_embedding(const wire::Open& open, const ParseContext& with) {
    ParsedEmbedding parsed;
    BOOST_OUTCOME_TRY(parsed.request, openai::parse_embeddings(open.body));
    const std::uint32_t width = with.abilities.embedding_width;
    if (parsed.request.dimensions.value_or(width) != width)
        return openai::unsupported_parameter("dimensions",
                                             "vectors are as wide as the model, " + std::to_string(width));
    const EncodeTerms terms = {room_of(with, with.context_tokens, parsed.request.truncate_prompt_tokens)};
    BOOST_OUTCOME_TRY(parsed.inputs, encode_all("input", parsed.request.inputs, with, terms));
    return parsed;
}

openai::ApiResult<std::string> tokenize(const wire::Open& open, const ParseContext& with) {
    BOOST_OUTCOME_TRY(auto request, openai::parse_tokenize(open.body));
    Tokens tokens;
    if (auto* conversation = std::get_if<openai::Conversation>(&request.text)) {
        if (request.add_special_tokens)
            return openai::unsupported_parameter("add_special_tokens", "the chat template writes them");
        BOOST_OUTCOME_TRY(check_text("messages", bytes_of(conversation->messages)));
        BOOST_OUTCOME_TRY(tokens, render("messages", std::move(*conversation), with));
    } else {
        const std::string& text = std::get<std::string>(request.text);
        BOOST_OUTCOME_TRY(check_text("prompt", text.size()));
        tokens = with.tokenizer.encode(text, {.add_bos = request.add_special_tokens, .parse_special = true});
    }
    std::optional<std::vector<std::string>> pieces;
    if (request.return_token_strs) {
        pieces.emplace();
        for (const engine::TokenId token : tokens) {
            std::string& piece = pieces->emplace_back();
            with.tokenizer.append_piece(token, piece, true);
        }
    }
    return openai::tokenize_json(tokens, pieces, with.context_tokens);
}

openai::ApiResult<std::string> detokenize(const wire::Open& open, const ParseContext& with) {
    BOOST_OUTCOME_TRY(auto request, openai::parse_detokenize(open.body));
    if (request.tokens.size() > detokenize_tokens_max)
        return openai::out_of_range("tokens", std::to_string(request.tokens.size()) + " tokens",
                                    "at most " + std::to_string(detokenize_tokens_max) + " of them");
    BOOST_OUTCOME_TRY(check_ids("tokens", request.tokens, with));
    return openai::detokenize_json(with.tokenizer.decode(request.tokens, true));
}

}  // namespace exa::app::builtin
