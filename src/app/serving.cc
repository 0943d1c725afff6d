#include "app/serving.h"

#include <algorithm>
#include <atomic>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "app/mailbox.h"
#include "engine/errc.h"
#include "openai/completion.h"
#include "openai/error.h"
#include "openai/request.h"

namespace exa::app {

namespace {

namespace asio = boost::asio;
using engine::FinishReason;
using engine::TokenEvent;

// Tokens of one piece of an answer. Behind a slow reader more of them wait than fit one frame of a link once rendered.
constexpr std::size_t piece_tokens_max = 128;

// What both kinds of request come down to.
struct Job {
    openai::Options options;
    std::vector<engine::TokenId> prompt;
    openai::Shape shape = openai::Shape::chat;
};

// Refuses what cannot fit whatever its tokens are: encoding megabytes would stall everybody on this thread.
openai::ApiResult<void> check_length(std::string_view field, std::size_t bytes, const LocalReplica& replica) {
    const std::size_t least = replica.tokenizer->tokens_at_least(bytes);
    if (least < replica.record.context_tokens) return boost::outcome_v2::success();
    return openai::context_length_exceeded(field, least, replica.record.context_tokens);
}

openai::ApiResult<Job> make_job(const wire::Open& open, const LocalReplica& replica) {
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
        BOOST_OUTCOME_TRY(check_length("messages", bytes, replica));
        if (!replica.chat_template)
            return openai::unsupported_parameter("messages", "this model has no chat template; use /v1/completions");
        auto prompt = replica.chat_template->render(*replica.tokenizer, messages);
        if (!prompt) return openai::unsupported_parameter("messages", prompt.error().message());
        job.prompt = std::move(prompt).value();
        job.options = std::move(request.options);
        return job;
    }
    job.shape = openai::Shape::completion;
    BOOST_OUTCOME_TRY(auto request, openai::parse_completion(open.body));
    const openai::Prompt& prompt = request.prompts.front();
    if (const auto* text = std::get_if<std::string>(&prompt)) {
        BOOST_OUTCOME_TRY(check_length("prompt", text->size(), replica));
        // Raw completions write their own markup; only chat messages must not be able to.
        job.prompt = replica.tokenizer->encode(*text, {.add_bos = true, .parse_special = true});
    } else {
        job.prompt = std::get<std::vector<std::uint32_t>>(prompt);
        const std::size_t vocabulary = replica.tokenizer->size();
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

// Why this peer cannot take the request at all; the entry then looks elsewhere.
std::optional<wire::EndCode> refusal(const wire::Open& open, const LocalReplica* replica) {
    if (replica == nullptr) return wire::EndCode::not_found;
    const wire::ReplicaRecord& record = replica->record;
    if (record.model != open.model || (!open.version.empty() && record.version != open.version) ||
        (!record.tenant_pool.empty() && record.tenant_pool != open.tenant))
        return wire::EndCode::wrong_version;
    if (open.kind != wire::RequestKind::chat && open.kind != wire::RequestKind::completion)
        return wire::EndCode::not_supported;
    switch (replica->state.load()) {
        case wire::ReplicaState::ready:
        case wire::ReplicaState::degraded:
        case wire::ReplicaState::warming:  // only this peer's own warm-up knows of it
            return std::nullopt;
        case wire::ReplicaState::draining:
        case wire::ReplicaState::stopped:
            return wire::EndCode::draining;
        case wire::ReplicaState::created:
        case wire::ReplicaState::loading:
        case wire::ReplicaState::failed:
            return wire::EndCode::not_found;
    }
    return wire::EndCode::not_found;
}

// The client's own mistake, which is an answer like any other.
asio::awaitable<void> write_error(std::shared_ptr<ReplyWriter> reply, openai::ApiError error) {
    const wire::Head head{static_cast<std::uint16_t>(error.status), "application/json", std::nullopt};
    if (!co_await reply->write(head)) co_return;
    if (!co_await reply->write(wire::Data{0, {}, error.body()})) co_return;
    std::ignore = co_await reply->write(wire::End{wire::EndCode::ok, "", std::nullopt});
}

// Counts a coroutine for as long as it runs.
class ServingCount {
  public:
    explicit ServingCount(std::atomic<std::uint32_t>& now) : now_(now) { now_.fetch_add(1); }
    ServingCount(const ServingCount&) = delete;
    ServingCount& operator=(const ServingCount&) = delete;
    ~ServingCount() { now_.fetch_sub(1); }

  private:
    std::atomic<std::uint32_t>& now_;
};

// One generation on its way through tokens, text and rendering to the reply.
class Answer {
  public:
    Answer(const LocalReplica& replica, openai::CompletionStream text, std::uint32_t prompt_tokens)
        : replica_(replica), text_(std::move(text)) {
        usage_.prompt_tokens = prompt_tokens;
    }

    // Adds an event's token; true when the answer has ended.
    bool add(const TokenEvent& event, wire::Data& out) {
        usage_.cached_tokens = std::max(usage_.cached_tokens, event.cached_tokens);
        if (event.has_token) {
            const bool is_stop_token = event.finish == FinishReason::stop;
            std::string piece;
            if (!is_stop_token) replica_.tokenizer->append_piece(event.token, piece, false);
            if (out.tokens.empty()) out.offset = event.offset;
            out.tokens.push_back(event.token);
            out.bytes += text_.token(event.offset, piece, is_stop_token);
        }
        if (text_.stopped()) finish_ = FinishReason::stop;
        if (event.finish) finish_ = finish_.value_or(*event.finish);
        return finish_.has_value();
    }

    bool ended_by_stop_string() const { return text_.stopped(); }
    std::optional<FinishReason> finish() const { return finish_; }
    const openai::PromptUsage& usage() const { return usage_; }
    std::uint32_t completion_tokens() const { return text_.completion_tokens(); }
    openai::CompletionStream& text() { return text_; }
    openai::Finish reason() const {
        return finish_ == FinishReason::length ? openai::Finish::length : openai::Finish::stop;
    }

  private:
    const LocalReplica& replica_;
    openai::CompletionStream text_;
    openai::PromptUsage usage_;
    std::optional<FinishReason> finish_;
};

// True when the client has got the whole answer, and only the news of its end was lost on the way. The last piece of a
// stream carries its end.
bool is_complete(const engine::GenerateRequest& request, bool stop_string_found) {
    if (request.resumed_tokens == 0) return false;
    return stop_string_found || request.resumed_tokens == request.max_tokens ||
           std::ranges::find(request.stop_tokens, request.prompt.back()) != request.stop_tokens.end();
}

}  // namespace

asio::awaitable<void> Serving::serve(wire::Open open, std::shared_ptr<ReplyWriter> reply) {
    ++stats_.requests;
    const ServingCount count(replicas_->serving_now());
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    const std::shared_ptr<LocalReplica> replica = replicas_->find(open.replica);
    if (const auto code = refusal(open, replica.get())) {
        ++stats_.refused_other;
        std::ignore = co_await reply->write(wire::End{*code, "", std::nullopt});
        co_return;
    }

    auto job = make_job(open, *replica);
    const std::uint32_t context = replica->record.context_tokens;
    if (job && job.value().prompt.size() >= context)
        job = openai::context_length_exceeded(job.value().shape == openai::Shape::chat ? "messages" : "prompt",
                                              job.value().prompt.size(), context);
    if (!job) {
        ++stats_.client_errors;
        co_await write_error(reply, job.error());
        co_return;
    }
    const openai::Options& options = job.value().options;
    const auto prompt_tokens = static_cast<std::uint32_t>(job.value().prompt.size());

    engine::GenerateRequest request;
    request.prompt = std::move(job.value().prompt);
    request.max_tokens = std::min(options.max_tokens.value_or(context), context - prompt_tokens);
    request.sampling = {static_cast<float>(options.temperature), static_cast<float>(options.top_p), open.seed};
    request.stop_tokens = replica->tokenizer->end_tokens();
    const std::vector<std::uint32_t>& resumed = open.choices.front();
    request.resumed_tokens = static_cast<std::uint32_t>(resumed.size());
    request.prompt.insert(request.prompt.end(), resumed.begin(), resumed.end());

    openai::AnswerHead head;
    head.shape = job.value().shape;
    head.id = open.response_id;
    head.created = open.created_unix_s;
    head.model = options.model;
    head.fingerprint = replica->record.numerics;
    head.stream = options.stream;
    head.include_usage = options.include_usage;
    Answer answer(*replica, openai::CompletionStream(std::move(head), options.stop), prompt_tokens);
    for (std::size_t i = 0; i < resumed.size(); ++i) {
        std::string piece;
        replica->tokenizer->append_piece(resumed[i], piece, false);
        answer.text().replay(static_cast<std::uint32_t>(i), piece);
    }
    if (is_complete(request, answer.text().stopped())) {
        std::ignore = co_await reply->write(wire::End{wire::EndCode::ok, "", replica->host->load()});
        co_return;
    }

    const auto events = std::make_shared<Mailbox<TokenEvent>>(executor);
    const auto submitted = replica->host->submit(std::move(request), [executor, events](std::vector<TokenEvent> batch) {
        asio::post(executor, [events, batch = std::move(batch)] {
            for (const TokenEvent& event : batch) events->push(event);
        });
    });
    if (!submitted) {
        ++stats_.refused_busy;
        const bool busy = submitted.error().code == engine::errc::busy;
        std::ignore = co_await reply->write(wire::End{busy ? wire::EndCode::busy : wire::EndCode::too_long,
                                                      submitted.error().detail, replica->host->load()});
        co_return;
    }
    const engine::RequestId id = submitted.value();
    reply->on_cancel([replica, id] { replica->host->cancel(id); });

    // Of an answer in one piece the tokens travel as they come, so that the entry sees it live however long it takes.
    const char* const content_type = options.stream ? "text/event-stream" : "application/json";
    bool head_written = false;
    bool reader_gone = false;
    while (!answer.finish() && !reader_gone) {
        wire::Data data;
        for (const TokenEvent& event : co_await events->take(piece_tokens_max))
            if (answer.add(event, data)) break;
        const bool good =
            !answer.finish() || answer.finish() == FinishReason::stop || answer.finish() == FinishReason::length;
        if (!good) break;
        if (options.stream && answer.finish()) data.bytes += answer.text().finish(answer.reason(), answer.usage());
        if (!std::exchange(head_written, true))
            reader_gone = !co_await reply->write(wire::Head{200, content_type, replica->host->load()});
        if (!reader_gone) reader_gone = !co_await reply->write(std::move(data));
    }
    if (reader_gone || answer.ended_by_stop_string()) replica->host->cancel(id);
    reply->on_cancel({});

    stats_.prompt_tokens += prompt_tokens;
    stats_.cached_tokens += answer.usage().cached_tokens;
    stats_.completion_tokens += answer.completion_tokens();
    if (reader_gone || answer.finish() == FinishReason::cancelled) {
        ++stats_.cancelled;
        std::ignore = co_await reply->write(wire::End{wire::EndCode::cancelled, "", replica->host->load()});
    } else if (answer.finish() == FinishReason::failed) {
        std::ignore =
            co_await reply->write(wire::End{wire::EndCode::failed, "the engine gave up", replica->host->load()});
    } else {
        // Without tokens beside it a long body is cut to frames.
        if (!options.stream)
            std::ignore = co_await reply->write(wire::Data{0, {}, answer.text().body(answer.reason(), answer.usage())});
        std::ignore = co_await reply->write(wire::End{wire::EndCode::ok, "", replica->host->load()});
    }
}

}  // namespace exa::app
