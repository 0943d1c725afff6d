#include "app/builtin_backend.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "app/builtin_reply.h"
#include "engine/errc.h"
#include "openai/completion.h"
#include "openai/error.h"
#include "openai/request.h"

namespace exa::app {

namespace {

// What both kinds of request come down to.
struct Job {
    openai::Options options;
    std::vector<engine::TokenId> prompt;
    openai::Shape shape = openai::Shape::chat;
};

// What requests are read with.
struct Model {
    const model::Tokenizer& tokenizer;
    const std::optional<model::ChatTemplate>& chat_template;
    std::uint32_t context_tokens;
};

// Refuses what cannot fit whatever its tokens are: encoding megabytes would stall everybody on this thread.
openai::ApiResult<void> check_length(std::string_view field, std::size_t bytes, const Model& with) {
    const std::size_t least = with.tokenizer.tokens_at_least(bytes);
    if (least < with.context_tokens) return boost::outcome_v2::success();
    return openai::context_length_exceeded(field, least, with.context_tokens);
}

openai::ApiResult<Job> make_job(const wire::Open& open, const Model& with) {
    Job job;
    if (open.kind == wire::RequestKind::chat) {
        job.shape = openai::Shape::chat;
        BOOST_OUTCOME_TRY(auto request, openai::parse_chat(open.body));
        std::vector<model::ChatMessage> messages;
        messages.reserve(request.messages.size());
        std::size_t bytes = 0;
        for (openai::Message& message : request.messages) {
            bytes += message.content.size();
            messages.push_back({std::string(to_string(message.role)), std::move(message.content)});
        }
        BOOST_OUTCOME_TRY(check_length("messages", bytes, with));
        if (!with.chat_template)
            return openai::unsupported_parameter("messages", "this model has no chat template; use /v1/completions");
        auto prompt = with.chat_template->render(with.tokenizer, messages);
        if (!prompt) return openai::unsupported_parameter("messages", prompt.error().message());
        job.prompt = std::move(prompt).value();
        job.options = std::move(request.options);
        return job;
    }
    job.shape = openai::Shape::completion;
    BOOST_OUTCOME_TRY(auto request, openai::parse_completion(open.body));
    const openai::Prompt& prompt = request.prompts.front();
    if (const auto* text = std::get_if<std::string>(&prompt)) {
        BOOST_OUTCOME_TRY(check_length("prompt", text->size(), with));
        // Raw completions write their own markup; only chat messages must not be able to.
        job.prompt = with.tokenizer.encode(*text, {.add_bos = true, .parse_special = true});
    } else {
        job.prompt = std::get<std::vector<std::uint32_t>>(prompt);
        const std::size_t vocabulary = with.tokenizer.size();
        for (std::size_t i = 0; i < job.prompt.size(); ++i)
            if (job.prompt[i] >= vocabulary)
                return openai::out_of_range("prompt[" + std::to_string(i) + "]", std::to_string(job.prompt[i]),
                                            "a token id below " + std::to_string(vocabulary));
    }
    // An empty text without a BOS token has nothing to continue.
    if (job.prompt.empty()) return openai::out_of_range("prompt", "\"\"", "at least one token long");
    job.options = std::move(request.options);
    return job;
}

openai::ApiResult<Job> make_fitting_job(const wire::Open& open, const Model& with) {
    BOOST_OUTCOME_TRY(auto job, make_job(open, with));
    if (job.prompt.size() < with.context_tokens) return job;
    return openai::context_length_exceeded(job.shape == openai::Shape::chat ? "messages" : "prompt", job.prompt.size(),
                                           with.context_tokens);
}

// The client's own mistake, which is an answer like any other.
std::shared_ptr<ReplyReader> error_reply(const openai::ApiError& error) {
    return reply_of({wire::Head{static_cast<std::uint16_t>(error.status), "application/json"},
                     wire::Data{0, {}, error.body()}, wire::End{}});
}

// True when the client has got the whole answer, and only the news of its end was lost on the way. The last piece of a
// stream carries its end.
bool is_complete(const engine::GenerateRequest& request, bool stop_string_found) {
    if (request.resumed_tokens == 0) return false;
    return stop_string_found || request.resumed_tokens == request.max_tokens ||
           std::ranges::find(request.stop_tokens, request.prompt.back()) != request.stop_tokens.end();
}

engine::GenerateRequest make_request(Job& job, const wire::Open& open, const Model& with) {
    const std::vector<std::uint32_t>& resumed = open.choices.front();
    const auto prompt_tokens = static_cast<std::uint32_t>(job.prompt.size());
    engine::GenerateRequest request;
    request.prompt = std::move(job.prompt);
    request.prompt.insert(request.prompt.end(), resumed.begin(), resumed.end());
    request.max_tokens =
        std::min(job.options.max_tokens.value_or(with.context_tokens), with.context_tokens - prompt_tokens);
    request.sampling = {static_cast<float>(job.options.temperature), static_cast<float>(job.options.top_p), open.seed};
    request.stop_tokens = with.tokenizer.end_tokens();
    request.resumed_tokens = static_cast<std::uint32_t>(resumed.size());
    return request;
}

}  // namespace

BuiltinBackend::BuiltinBackend(const wire::ReplicaRecord& record, const LoadedModel& model,
                               std::unique_ptr<engine::Replica> replica, ReplicaHost::Clock clock)
    : context_tokens_(record.context_tokens),
      numerics_(record.numerics),
      tokenizer_(model.tokenizer),
      chat_template_(model.chat_template),
      host_(std::make_shared<ReplicaHost>(std::move(replica), record, std::move(clock))) {}

std::shared_ptr<ReplyReader> BuiltinBackend::open(wire::Open open, const ReplyContext& context) {
    if (open.kind != wire::RequestKind::chat && open.kind != wire::RequestKind::completion)
        return reply_of({wire::End{wire::EndCode::not_supported, "", load()}});
    const Model with{*tokenizer_, chat_template_, context_tokens_};
    auto job = make_fitting_job(open, with);
    if (!job) {
        ++context.stats->client_errors;
        return error_reply(job.error());
    }
    const openai::Options& options = job.value().options;
    openai::AnswerHead head;
    head.shape = job.value().shape;
    head.id = open.response_id;
    head.created = open.created_unix_s;
    head.model = options.model;
    head.fingerprint = numerics_;
    head.stream = options.stream;
    head.include_usage = options.include_usage;
    BuiltinAnswer answer{openai::CompletionStream(std::move(head), options.stop), options.stream,
                         static_cast<std::uint32_t>(job.value().prompt.size())};
    const std::vector<std::uint32_t>& resumed = open.choices.front();
    for (std::size_t i = 0; i < resumed.size(); ++i) {
        std::string piece;
        tokenizer_->append_piece(resumed[i], piece, false);
        answer.text.replay(static_cast<std::uint32_t>(i), piece);
    }
    engine::GenerateRequest request = make_request(job.value(), open, with);
    if (is_complete(request, answer.text.stopped())) return reply_of({wire::End{wire::EndCode::ok, "", load()}});

    const auto reply = std::make_shared<BuiltinReply>(host_, tokenizer_, std::move(answer), context);
    if (const auto submitted = reply->submit(std::move(request)); !submitted) {
        ++context.stats->refused_busy;
        const bool busy = submitted.error().code == engine::errc::busy;
        return reply_of(
            {wire::End{busy ? wire::EndCode::busy : wire::EndCode::too_long, submitted.error().detail, load()}});
    }
    return reply;
}

}  // namespace exa::app
