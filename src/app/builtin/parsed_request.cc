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

// Refuses what cannot fit whatever its tokens are: encoding megabytes would stall everybody on this thread.
openai::ApiResult<void> check_length(std::string_view field, std::size_t bytes, const ParseContext& with) {
    const std::size_t least = with.tokenizer.tokens_at_least(bytes);
    if (least < with.context_tokens) return boost::outcome_v2::success();
    return openai::context_length_exceeded(field, least, with.context_tokens);
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

openai::ApiResult<Tokens> render(std::string_view field, std::vector<openai::Message> from, const ParseContext& with,
                                 bool opens_answer = true) {
    std::vector<model::ChatMessage> messages;
    messages.reserve(from.size());
    for (openai::Message& message : from)
        messages.push_back({std::string(to_string(message.role)), std::move(message.content)});
    if (!with.chat_template)
        return openai::unsupported_parameter(field, "this model has no chat template; use /v1/completions");
    auto prompt = with.chat_template->render(with.tokenizer, messages, opens_answer);
    if (!prompt) return openai::unsupported_parameter(field, prompt.error().message());
    return std::move(prompt).value();
}

std::size_t bytes_of(const std::vector<openai::Message>& messages) {
    std::size_t bytes = 0;
    for (const openai::Message& message : messages) bytes += message.content.size();
    return bytes;
}

openai::ApiResult<Tokens> render_fitting(std::string_view field, std::vector<openai::Message> messages,
                                         const ParseContext& with) {
    BOOST_OUTCOME_TRY(check_length(field, bytes_of(messages), with));
    BOOST_OUTCOME_TRY(auto prompt, render(field, std::move(messages), with));
    if (prompt.size() < with.context_tokens) return prompt;
    return openai::context_length_exceeded(field, prompt.size(), with.context_tokens);
}

// One prompt or input of several; `room` is what the context must hold beside it.
openai::ApiResult<Tokens> encode(const std::string& field, openai::Prompt prompt, const ParseContext& with,
                                 std::uint32_t room) {
    Tokens tokens;
    if (const auto* text = std::get_if<std::string>(&prompt)) {
        BOOST_OUTCOME_TRY(check_length(field, text->size(), with));
        // Raw completions write their own markup; only chat messages must not be able to.
        tokens = with.tokenizer.encode(*text, {.add_bos = true, .parse_special = true});
    } else {
        tokens = std::move(std::get<Tokens>(prompt));
        BOOST_OUTCOME_TRY(check_ids(field, tokens, with));
    }
    // An empty text without a BOS token has nothing to continue.
    if (tokens.empty()) return openai::out_of_range(field, "\"\"", "at least one token long");
    if (tokens.size() + room <= with.context_tokens) return tokens;
    return openai::context_length_exceeded(field, tokens.size(), with.context_tokens);
}

openai::ApiResult<std::vector<Tokens>> encode_all(std::string_view field, const std::vector<openai::Prompt>& prompts,
                                                  const ParseContext& with, std::uint32_t room) {
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
        BOOST_OUTCOME_TRY(auto tokens, encode(path, prompts[i], with, room));
        encoded.push_back(std::move(tokens));
    }
    return encoded;
}

openai::ApiResult<void> check_biases(const openai::Options& options, const ParseContext& with) {
    for (const auto& [token, bias] : options.logit_bias)
        if (token >= with.tokenizer.size())
            return openai::out_of_range("logit_bias", "the token " + std::to_string(token),
                                        "of tokens below " + std::to_string(with.tokenizer.size()));
    return boost::outcome_v2::success();
}

openai::ApiResult<ParsedGeneration> parse_completion(const wire::Open& open, const ParseContext& with) {
    ParsedGeneration parsed;
    BOOST_OUTCOME_TRY(auto request, openai::parse_completion(open.body, {}, features_of(with.abilities)));
    BOOST_OUTCOME_TRY(parsed.prompts, encode_all("prompt", request.prompts, with, 1));
    if (request.echo) {
        for (std::size_t i = 0; i < request.prompts.size(); ++i) {
            auto* text = std::get_if<std::string>(&request.prompts[i]);
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
        BOOST_OUTCOME_TRY(auto prompt, render_fitting("messages", std::move(request.messages), with));
        parsed.prompts.push_back(std::move(prompt));
        parsed.options = std::move(request.options);
    } else if (open.kind == wire::RequestKind::response) {
        BOOST_OUTCOME_TRY(auto request, openai::parse_responses(open.body, {}, features_of(with.abilities)));
        BOOST_OUTCOME_TRY(auto prompt, render_fitting("input", std::move(request.messages), with));
        parsed.prompts.push_back(std::move(prompt));
        parsed.options = std::move(request.options);
        parsed.response = std::move(request.settings);
    } else {
        BOOST_OUTCOME_TRY(parsed, parse_completion(open, with));
    }
    BOOST_OUTCOME_TRY(check_biases(parsed.options, with));
    return parsed;
}

openai::ApiResult<ParsedEmbedding> parse_embedding(const wire::Open& open, const ParseContext& with) {
    ParsedEmbedding parsed;
    BOOST_OUTCOME_TRY(parsed.request, openai::parse_embeddings(open.body));
    BOOST_OUTCOME_TRY(parsed.inputs, encode_all("input", parsed.request.inputs, with, 0));
    return parsed;
}

openai::ApiResult<std::string> tokenize(const wire::Open& open, const ParseContext& with) {
    BOOST_OUTCOME_TRY(auto request, openai::parse_tokenize(open.body));
    Tokens tokens;
    if (auto* messages = std::get_if<std::vector<openai::Message>>(&request.text)) {
        if (request.add_special_tokens)
            return openai::unsupported_parameter("add_special_tokens", "the chat template writes them");
        BOOST_OUTCOME_TRY(check_text("messages", bytes_of(*messages)));
        BOOST_OUTCOME_TRY(tokens, render("messages", std::move(*messages), with, request.add_generation_prompt));
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
