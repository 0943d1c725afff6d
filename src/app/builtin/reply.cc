#include "app/builtin/reply.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "gateway/receiver.h"
#include "io/errc.h"

namespace exa::app::builtin {

namespace {

using engine::FinishReason;
using engine::TokenEvent;

// Tokens of one piece of an answer. Behind a slow reader more of them wait than fit one frame of a link once rendered;
// logprobs take up to 2 KiB a token.
constexpr std::size_t piece_tokens_max = 128;
constexpr std::size_t piece_bytes_max = 32 * 1024;

openai::Finish reason_of(FinishReason finish) {
    return finish == FinishReason::length ? openai::Finish::length : openai::Finish::stop;
}

}  // namespace

openai::TokenLogprobs to_openai(const engine::TokenLogprobs& logprobs, const model::Tokenizer& tokenizer) {
    openai::TokenLogprobs out;
    out.logprob = logprobs.logprob;
    out.top.reserve(logprobs.top.size());
    for (const engine::TokenLogprob& one : logprobs.top) {
        openai::TokenLogprob& added = out.top.emplace_back();
        // The likeliest may be one that ends the answer, which has a name only.
        tokenizer.append_piece(one.token, added.bytes, true);
        added.logprob = one.logprob;
    }
    return out;
}

BuiltinReply::BuiltinReply(std::shared_ptr<ReplicaHost> host, std::shared_ptr<const model::Tokenizer> tokenizer,
                           BuiltinAnswer answer, replica::ReplyContext context)
    : host_(std::move(host)),
      tokenizer_(std::move(tokenizer)),
      answer_(std::move(answer)),
      context_(std::move(context)),
      choices_(answer_.text.choices()),
      last_choice_(answer_.text.choices() - 1) {}

BuiltinReply::~BuiltinReply() {
    on_ready_ = nullptr;
    BuiltinReply::cancel();
}

Result<void> BuiltinReply::start(std::vector<SequenceGroup::Item> sequences,
                                 const SequenceGroup::WaitOptions& wait_options) {
    sequences_ = std::make_shared<SequenceGroup>(host_, context_.mailbox, std::move(sequences));
    // Alive as long as the sequences, which are its own.
    auto started = sequences_->start(
        [this](std::size_t index, std::vector<TokenEvent> events) {
            take(static_cast<std::uint32_t>(index), std::move(events));
        },
        wait_options, [this](const Error& why) { refuse(why); });
    if (!started) sequences_.reset();
    return started;
}

void BuiltinReply::refuse(const Error& why) {
    ++context_.stats->refused_busy;
    end_ = exa::gateway::refusal(why, host_->load());
    if (on_ready_) on_ready_();
}

void BuiltinReply::take(std::uint32_t index, std::vector<TokenEvent> events) {
    Choice& choice = choices_[index];
    // Behind a stop string the engine is some tokens ahead.
    if (answer_.text.finished(index)) return;
    if (choice.waits())
        choice.events.insert(choice.events.end(), std::make_move_iterator(events.begin()),
                             std::make_move_iterator(events.end()));
    else
        choice = {std::move(events), 0, choice.cached_tokens};
    if (on_ready_) on_ready_();
}

std::optional<Result<replica::ReplyPart>> BuiltinReply::poll() {
    if (cancelled_) return Result<replica::ReplyPart>(error(io::errc::cancelled));
    if (ended_) return Result<replica::ReplyPart>(error(io::errc::closed, "the reply has ended"));
    if (!data_ && !body_ && !end_) {
        render();
        if (!data_ && !body_ && !end_) return std::nullopt;
    }
    // A generation that failed before it gave anything has no head.
    if ((data_ || body_) && std::exchange(head_due_, false)) {
        // Of an answer in one piece the tokens travel as they come, so that the ingress sees it live however long it
        // takes.
        const char* const content_type = answer_.text.is_stream() ? "text/event-stream" : "application/json";
        return Result<replica::ReplyPart>(wire::Head{200, content_type, host_->load()});
    }
    if (data_) return Result<replica::ReplyPart>(*std::exchange(data_, std::nullopt));
    if (body_) return Result<replica::ReplyPart>(*std::exchange(body_, std::nullopt));
    ended_ = true;
    return Result<replica::ReplyPart>(*std::exchange(end_, std::nullopt));
}

// In turn, so that no choice waits for another's end.
std::optional<std::uint32_t> BuiltinReply::next_choice() {
    const std::uint32_t count = answer_.text.choices();
    for (std::uint32_t i = 1; i <= count; ++i) {
        const std::uint32_t index = (last_choice_ + i) % count;
        if (choices_[index].waits()) return last_choice_ = index;
    }
    return std::nullopt;
}

void BuiltinReply::render() {
    const auto index = next_choice();
    if (!index) return;
    Choice& choice = choices_[*index];
    wire::Data data;
    data.choice = static_cast<std::uint16_t>(*index);
    while (choice.waits() && !answer_.text.finished(*index) && !failure_ && data.tokens.size() < piece_tokens_max &&
           data.bytes.size() < piece_bytes_max)
        add(*index, choice.events[choice.next_event++], data);
    if (!choice.waits() || answer_.text.finished(*index)) {
        choice.events.clear();
        choice.next_event = 0;
    }
    // With the last token: a reader who has got all tokens has got all of the answer.
    if (answer_.text.is_stream() && answer_.text.all_finished()) data.bytes += answer_.text.end(usage());
    if (wire::data_payload_size(data) > wire::frame_payload_max(wire::FrameType::data)) {
        // Such as a last event that repeats a megabyte of spaces. It would fit nowhere else either.
        cut_ = true;
        data.bytes = answer_.text.error_event(openai::internal("the next event of this stream is larger than 1 MiB"));
    }
    if (!data.tokens.empty() || !data.bytes.empty()) data_ = std::move(data);
    if (failure_ || cut_ || answer_.text.all_finished()) finish();
}

void BuiltinReply::add(std::uint32_t index, const TokenEvent& event, wire::Data& out) {
    AnswerWriter& text = answer_.text;
    choices_[index].cached_tokens = std::max(choices_[index].cached_tokens, event.cached_tokens);
    if (event.has_token) {
        const bool is_stop_token = event.finish == FinishReason::stop;
        std::string piece;
        if (!is_stop_token) tokenizer_->append_piece(event.token, piece, answer_.shows_special);
        if (event.prompt_logprobs) add_echo(index, *event.prompt_logprobs);
        std::optional<openai::TokenLogprobs> logprobs;
        if (event.logprobs && !is_stop_token) logprobs = to_openai(*event.logprobs, *tokenizer_);
        if (out.tokens.empty()) out.offset = event.offset;
        out.tokens.push_back(event.token);
        out.bytes += text.token(index, piece, is_stop_token, logprobs ? &*logprobs : nullptr);
    }
    if (text.stopped(index)) {
        out.bytes += text.finish(index, openai::Finish::stop);
        // The engine knows nothing of stop strings.
        if (!event.finish) sequences_->cancel(index);
    } else if (event.finish == FinishReason::stop || event.finish == FinishReason::length) {
        out.bytes += text.finish(index, reason_of(*event.finish));
    } else if (event.finish) {
        failure_ = event.finish;
    }
}

// `logprobs` are of the prompt's tokens from the second on.
void BuiltinReply::add_echo(std::uint32_t index, const std::vector<engine::TokenLogprobs>& logprobs) {
    const auto& prompt = answer_.echoed[index / (answer_.text.choices() / answer_.prompts)];
    std::vector<openai::EchoedToken> tokens(prompt.size());
    for (std::size_t i = 0; i < prompt.size(); ++i) {
        openai::EchoedToken& token = tokens[i];
        tokenizer_->append_piece(prompt[i], token.bytes, false);
        token.is_text = !token.bytes.empty();
        if (!token.is_text) tokenizer_->append_piece(prompt[i], token.bytes, true);
        if (i > 0) token.logprobs = to_openai(logprobs[i - 1], *tokenizer_);
    }
    answer_.text.echo_logprobs(index, tokens);
}

void BuiltinReply::finish() {
    sequences_->cancel();
    account();
    if (!cut_ && failure_ == FinishReason::cancelled) {
        ++context_.stats->cancelled;
        end_ = wire::End{wire::EndCode::cancelled, "", host_->load()};
        return;
    }
    if (!cut_ && failure_) {
        end_ = wire::End{wire::EndCode::failed, "the engine gave up", host_->load()};
        return;
    }
    // Without tokens beside it a long body is cut to frames.
    if (!answer_.text.is_stream()) body_ = wire::Data{0, {}, answer_.text.end(usage())};
    end_ = wire::End{wire::EndCode::ok, "", host_->load()};
}

openai::PromptUsage BuiltinReply::usage() const {
    openai::PromptUsage usage;
    usage.prompt_tokens = answer_.prompt_tokens;
    // Later choices of a prompt find it in the cache because the first put it there.
    for (std::size_t first = 0; first < choices_.size(); first += choices_.size() / answer_.prompts)
        usage.cached_tokens += choices_[first].cached_tokens;
    // What a resumed answer finds there may be tokens of its own.
    usage.cached_tokens = std::min(usage.cached_tokens, usage.prompt_tokens);
    return usage;
}

void BuiltinReply::account() {
    if (std::exchange(accounted_, true)) return;
    const openai::PromptUsage sum = usage();
    context_.stats->prompt_tokens += sum.prompt_tokens;
    context_.stats->cached_tokens += sum.cached_tokens;
    context_.stats->completion_tokens += answer_.text.completion_tokens() - answer_.replayed;
}

void BuiltinReply::cancel() {
    if (std::exchange(cancelled_, true)) return;
    if (sequences_ && !end_ && !ended_) {
        sequences_->cancel();
        account();
        ++context_.stats->cancelled;
    }
    if (on_ready_) on_ready_();
}

}  // namespace exa::app::builtin
