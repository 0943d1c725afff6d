#include "app/builtin/backend.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "app/builtin/embedding_reply.h"
#include "app/builtin/reply.h"
#include "base/hash.h"
#include "engine/errc.h"
#include "gateway/receiver.h"
#include "openai/error.h"

namespace exa::app::builtin {

namespace {

using engine::TokenId;

// A client's own mistake is an answer like any other.
std::shared_ptr<replica::ReplyReader> json_reply(int status, std::string body) {
    return replica::reply_of({wire::Head{static_cast<std::uint16_t>(status), "application/json"},
                              wire::Data{0, {}, std::move(body)}, wire::End{}});
}

std::shared_ptr<replica::ReplyReader> error_reply(const openai::ApiError& error, const replica::ReplyContext& context) {
    ++context.stats->client_errors;
    return json_reply(error.status, error.body());
}

SequenceGroup::WaitOptions wait_options_of(const wire::Open& open) {
    return {open.tenant, static_cast<std::uint32_t>(open.priority), open.queue_wait};
}

AnswerWriter make_writer(const ParsedGeneration& parsed, const wire::Open& open, const std::string& numerics) {
    const openai::Options& options = parsed.options;
    if (parsed.response) {
        openai::ResponseHead head;
        head.id = open.response_id;
        head.created = open.created_unix_s;
        head.model = options.model;
        head.stream = options.stream;
        head.logprobs = options.logprobs.has_value();
        head.settings = *parsed.response;
        return AnswerWriter(std::move(head));
    }
    openai::AnswerHead head;
    head.shape = open.kind == wire::RequestKind::chat ? openai::Shape::chat : openai::Shape::completion;
    head.id = open.response_id;
    head.created = open.created_unix_s;
    head.model = options.model;
    head.fingerprint = numerics;
    head.stream = options.stream;
    head.include_usage = options.include_usage;
    head.choices = static_cast<std::uint32_t>(parsed.prompts.size()) * options.n;
    head.logprobs = options.logprobs.has_value();
    head.min_tokens = options.min_tokens;
    for (const std::string& text : parsed.echo) head.echo.insert(head.echo.end(), options.n, text);
    return AnswerWriter(std::move(head), options.stop);
}

engine::Sampling make_sampling(const openai::Options& options, std::uint64_t seed) {
    engine::Sampling sampling;
    sampling.temperature = static_cast<float>(options.temperature);
    sampling.top_p = static_cast<float>(options.top_p);
    sampling.seed = seed;
    sampling.top_k = options.top_k;
    sampling.min_p = static_cast<float>(options.min_p);
    sampling.repetition_penalty = static_cast<float>(options.repetition_penalty);
    sampling.presence_penalty = static_cast<float>(options.presence_penalty);
    sampling.frequency_penalty = static_cast<float>(options.frequency_penalty);
    for (const auto& [token, bias] : options.logit_bias) sampling.biases.push_back({token, static_cast<float>(bias)});
    return sampling;
}

// Why nothing more comes of an answer whose last token is `last`; nothing when something does.
std::optional<openai::Finish> finish_of(const engine::GenerateRequest& request, bool stop_string_found) {
    if (request.resumed_tokens == 0) return std::nullopt;
    if (stop_string_found || std::ranges::find(request.stop_tokens, request.prompt.back()) != request.stop_tokens.end())
        return openai::Finish::stop;
    if (request.resumed_tokens >= request.max_tokens) return openai::Finish::length;
    return std::nullopt;
}

std::vector<TokenId> stop_tokens_of(const openai::Options& options, const model::Tokenizer& tokenizer) {
    std::vector<TokenId> tokens = options.stop_token_ids;
    if (options.ignore_eos) return tokens;
    const std::vector<TokenId> ends = tokenizer.end_tokens();
    tokens.insert(tokens.end(), ends.begin(), ends.end());
    return tokens;
}

// The sequences of an answer, of which `resumed` are there already; `text` gets these replayed.
std::vector<SequenceGroup::Item> make_sequences(const ParsedGeneration& parsed, const wire::Open& open,
                                                const ParseContext& with, AnswerWriter& text) {
    const openai::Options& options = parsed.options;
    const std::vector<TokenId> stop_tokens = stop_tokens_of(options, with.tokenizer);
    std::vector<SequenceGroup::Item> items(text.choices());
    for (std::uint32_t choice = 0; choice < items.size(); ++choice) {
        const Tokens& prompt = parsed.prompts[choice / options.n];
        engine::GenerateRequest request;
        request.prompt = prompt;
        request.max_tokens = std::min(options.max_tokens.value_or(with.context_tokens),
                                      with.context_tokens - static_cast<std::uint32_t>(prompt.size()));
        request.sampling = make_sampling(options, choice == 0 ? open.seed : hash64(open.seed, choice));
        request.stop_tokens = stop_tokens;
        request.min_tokens = options.min_tokens;
        request.top_logprobs = options.logprobs;
        request.prompt_logprobs = options.logprobs && !parsed.echo.empty();
        items[choice].first_of_prompt = choice - choice % options.n;
        // Logprobs of tokens that came from elsewhere are not known: an answer in one piece needs them.
        const bool resumes = choice < open.choices.size() && (options.stream || !options.logprobs);
        if (resumes) {
            const std::vector<TokenId>& resumed = open.choices[choice];
            for (const TokenId token : resumed) {
                std::string piece;
                const bool ends = std::ranges::find(stop_tokens, token) != stop_tokens.end();
                if (!ends) with.tokenizer.append_piece(token, piece, options.shows_special);
                text.replay(choice, piece);
            }
            request.prompt.insert(request.prompt.end(), resumed.begin(), resumed.end());
            request.resumed_tokens = static_cast<std::uint32_t>(resumed.size());
        }
        if (const auto finish = finish_of(request, text.stopped(choice)))
            text.replay_finish(choice, *finish);
        else
            items[choice].request = std::move(request);
    }
    return items;
}

}  // namespace

BuiltinBackend::BuiltinBackend(const wire::ReplicaRecord& record, const LoadedModel& model,
                               std::unique_ptr<engine::Replica> replica, const HostConfig& host,
                               ReplicaHost::Clock clock, std::shared_ptr<const kv::KvScopes> scopes)
    : context_tokens_(record.context_tokens),
      numerics_(record.numerics),
      tokenizer_(model.tokenizer),
      chat_template_(model.chat_template),
      no_chat_template_(model.no_chat_template),
      scopes_(std::move(scopes)),
      host_(std::make_shared<ReplicaHost>(std::move(replica), record, host, std::move(clock))) {}

std::shared_ptr<replica::ReplyReader> BuiltinBackend::open(const wire::Open& open,
                                                           const replica::ReplyContext& context) {
    switch (open.kind) {
        case wire::RequestKind::chat:
        case wire::RequestKind::completion:
        case wire::RequestKind::response:
            return open_answer(open, context);
        case wire::RequestKind::embedding:
            return open_embeddings(open, context);
        case wire::RequestKind::tokenize:
        case wire::RequestKind::detokenize: {
            const bool forth = open.kind == wire::RequestKind::tokenize;
            auto body = forth ? tokenize(open, parse_context()) : detokenize(open, parse_context());
            if (!body) return error_reply(body.error(), context);
            return json_reply(200, std::move(body).value());
        }
        case wire::RequestKind::kv:
        case wire::RequestKind::unknown:
            break;
    }
    return replica::reply_of({wire::End{wire::EndCode::not_supported, "", load()}});
}

std::optional<std::vector<exa::kv::SegmentKey>> BuiltinBackend::kv_keys(const wire::Open& open) {
    if (!scopes_) return std::nullopt;
    const auto parsed = parse_generation(open, parse_context());
    if (!parsed) return std::nullopt;
    return scopes_->keys_of(open.tenant, parsed.value().prompts.front());
}

std::shared_ptr<replica::ReplyReader> BuiltinBackend::open_answer(const wire::Open& open,
                                                                  const replica::ReplyContext& context) {
    const ParseContext with = parse_context();
    auto made = parse_generation(open, with);
    if (!made) return error_reply(made.error(), context);
    const ParsedGeneration& parsed = made.value();
    BuiltinAnswer answer{.text = make_writer(parsed, open, numerics_),
                         .prompts = static_cast<std::uint32_t>(parsed.prompts.size()),
                         .shows_special = parsed.options.shows_special};
    for (const Tokens& prompt : parsed.prompts) answer.prompt_tokens += static_cast<std::uint32_t>(prompt.size());
    std::vector<SequenceGroup::Item> items = make_sequences(parsed, open, with, answer.text);
    const auto scope = scopes_ ? std::optional(scopes_->of(open.tenant)) : std::nullopt;
    for (SequenceGroup::Item& item : items)
        if (item.request) {
            item.request->kv_scope = scope;
            item.request->kv_session = open.session_position;
        }
    if (parsed.options.logprobs && !parsed.echo.empty()) answer.echoed = std::move(made.value().prompts);
    answer.replayed = answer.text.completion_tokens();
    if (answer.text.all_finished()) {
        // A stream's last tokens carried its end: the client has got everything.
        if (answer.text.is_stream()) return replica::reply_of({wire::End{wire::EndCode::ok, "", load()}});
        return json_reply(200, answer.text.end({answer.prompt_tokens, 0}));
    }
    const auto reply = std::make_shared<BuiltinReply>(host_, tokenizer_, std::move(answer), context);
    if (const auto started = reply->start(std::move(items), wait_options_of(open)); !started)
        return refused(started.error(), context);
    return reply;
}

std::shared_ptr<replica::ReplyReader> BuiltinBackend::open_embeddings(const wire::Open& open,
                                                                      const replica::ReplyContext& context) {
    if (host_->abilities().embedding_width == 0)
        return error_reply(openai::unsupported_parameter("input", "the engine behind this model makes no embeddings"),
                           context);
    auto made = parse_embedding(open, parse_context());
    if (!made) return error_reply(made.error(), context);
    ParsedEmbedding& parsed = made.value();
    EmbeddingAnswer answer{std::move(parsed.request.model), parsed.request.format, 0};
    std::vector<SequenceGroup::Item> items(parsed.inputs.size());
    const auto scope = scopes_ ? std::optional(scopes_->of(open.tenant)) : std::nullopt;
    for (std::size_t i = 0; i < items.size(); ++i) {
        answer.prompt_tokens += static_cast<std::uint32_t>(parsed.inputs[i].size());
        items[i].first_of_prompt = i;
        items[i].request.emplace();
        items[i].request->prompt = std::move(parsed.inputs[i]);
        items[i].request->embeds = true;
        items[i].request->kv_scope = scope;
    }
    const auto reply = std::make_shared<EmbeddingReply>(host_, std::move(answer), context);
    if (const auto started = reply->start(std::move(items), wait_options_of(open)); !started)
        return refused(started.error(), context);
    return reply;
}

std::shared_ptr<replica::ReplyReader> BuiltinBackend::refused(const Error& why,
                                                              const replica::ReplyContext& context) const {
    ++context.stats->refused_busy;
    return replica::reply_of({exa::gateway::refusal(why, load())});
}

}  // namespace exa::app::builtin
