#include "app/builtin_reply.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <string>
#include <utility>

#include "io/errc.h"

namespace exa::app {

namespace {

namespace asio = boost::asio;
using engine::FinishReason;
using engine::TokenEvent;

// Tokens of one piece of an answer. Behind a slow reader more of them wait than fit one frame of a link once rendered.
constexpr std::size_t piece_tokens_max = 128;

bool is_good(std::optional<FinishReason> finish) {
    return !finish || finish == FinishReason::stop || finish == FinishReason::length;
}

openai::Finish reason_of(std::optional<FinishReason> finish) {
    return finish == FinishReason::length ? openai::Finish::length : openai::Finish::stop;
}

}  // namespace

BuiltinReply::BuiltinReply(std::shared_ptr<ReplicaHost> host, std::shared_ptr<const model::Tokenizer> tokenizer,
                           BuiltinAnswer answer, ReplyContext context)
    : host_(std::move(host)),
      tokenizer_(std::move(tokenizer)),
      answer_(std::move(answer)),
      context_(std::move(context)) {
    usage_.prompt_tokens = answer_.prompt_tokens;
}

BuiltinReply::~BuiltinReply() {
    on_ready_ = nullptr;
    BuiltinReply::cancel();
}

Result<void> BuiltinReply::submit(engine::GenerateRequest request) {
    // Weak, so that no reply ever ends on the engine's thread.
    auto sink = [executor = context_.executor, weak = weak_from_this()](std::vector<TokenEvent> batch) {
        asio::post(executor, [weak, batch = std::move(batch)]() mutable {
            if (const auto reply = weak.lock()) reply->take(std::move(batch));
        });
    };
    EXA_TRY(id_, host_->submit(std::move(request), std::move(sink)));
    return success();
}

void BuiltinReply::take(std::vector<TokenEvent> events) {
    if (events_.empty())
        events_ = std::move(events);
    else
        events_.insert(events_.end(), events.begin(), events.end());
    if (on_ready_) on_ready_();
}

std::optional<Result<ReplyPart>> BuiltinReply::poll() {
    if (cancelled_) return Result<ReplyPart>(error(io::errc::cancelled));
    if (ended_) return Result<ReplyPart>(error(io::errc::closed, "the reply has ended"));
    if (!data_ && !body_ && !end_) {
        if (events_.empty()) return std::nullopt;
        render();
    }
    // A generation that failed before it gave anything has no head.
    if ((data_ || body_) && std::exchange(head_due_, false)) {
        // Of an answer in one piece the tokens travel as they come, so that the entry sees it live however long it
        // takes.
        const char* const content_type = answer_.is_stream ? "text/event-stream" : "application/json";
        return Result<ReplyPart>(wire::Head{200, content_type, host_->load()});
    }
    if (data_) return Result<ReplyPart>(*std::exchange(data_, std::nullopt));
    if (body_) return Result<ReplyPart>(*std::exchange(body_, std::nullopt));
    ended_ = true;
    return Result<ReplyPart>(*std::exchange(end_, std::nullopt));
}

void BuiltinReply::render() {
    wire::Data data;
    const std::size_t last = std::min(next_event_ + piece_tokens_max, events_.size());
    while (next_event_ < last && !finish_) add(events_[next_event_++], data);
    if (next_event_ == events_.size()) {
        events_.clear();
        next_event_ = 0;
    }
    if (is_good(finish_)) {
        if (answer_.is_stream && finish_) data.bytes += answer_.text.finish(reason_of(finish_), usage_);
        data_ = std::move(data);
    }
    if (finish_) finish();
}

void BuiltinReply::add(const TokenEvent& event, wire::Data& out) {
    usage_.cached_tokens = std::max(usage_.cached_tokens, event.cached_tokens);
    if (event.has_token) {
        const bool is_stop_token = event.finish == FinishReason::stop;
        std::string piece;
        if (!is_stop_token) tokenizer_->append_piece(event.token, piece, false);
        if (out.tokens.empty()) out.offset = event.offset;
        out.tokens.push_back(event.token);
        out.bytes += answer_.text.token(event.offset, piece, is_stop_token);
    }
    if (answer_.text.stopped()) {
        finish_ = FinishReason::stop;
        // The engine knows nothing of stop strings.
        if (!event.finish) host_->cancel(*id_);
    } else if (event.finish) {
        finish_ = event.finish;
    }
}

void BuiltinReply::finish() {
    id_.reset();
    account();
    if (finish_ == FinishReason::cancelled) {
        ++context_.stats->cancelled;
        end_ = wire::End{wire::EndCode::cancelled, "", host_->load()};
        return;
    }
    if (finish_ == FinishReason::failed) {
        end_ = wire::End{wire::EndCode::failed, "the engine gave up", host_->load()};
        return;
    }
    // Without tokens beside it a long body is cut to frames.
    if (!answer_.is_stream) body_ = wire::Data{0, {}, answer_.text.body(reason_of(finish_), usage_)};
    end_ = wire::End{wire::EndCode::ok, "", host_->load()};
}

void BuiltinReply::account() {
    if (std::exchange(accounted_, true)) return;
    context_.stats->prompt_tokens += usage_.prompt_tokens;
    context_.stats->cached_tokens += usage_.cached_tokens;
    context_.stats->completion_tokens += answer_.text.completion_tokens();
}

void BuiltinReply::cancel() {
    if (std::exchange(cancelled_, true)) return;
    if (id_) {
        host_->cancel(*std::exchange(id_, std::nullopt));
        account();
        ++context_.stats->cancelled;
    }
    if (on_ready_) on_ready_();
}

}  // namespace exa::app
