#include "app/builtin/embedding_reply.h"

#include <utility>

#include "gateway/receiver.h"
#include "io/errc.h"

namespace exa::app::builtin {

using engine::FinishReason;

EmbeddingReply::EmbeddingReply(std::shared_ptr<ReplicaHost> host, EmbeddingAnswer answer, replica::ReplyContext context)
    : host_(std::move(host)), answer_(std::move(answer)), context_(std::move(context)) {}

EmbeddingReply::~EmbeddingReply() {
    on_ready_ = nullptr;
    EmbeddingReply::cancel();
}

Result<void> EmbeddingReply::start(std::vector<SequenceGroup::Item> sequences,
                                   const SequenceGroup::WaitOptions& wait_options) {
    missing_ = sequences.size();
    vectors_.resize(missing_);
    sequences_ = std::make_shared<SequenceGroup>(host_, context_.mailbox, std::move(sequences));
    auto started = sequences_->start(
        [this](std::size_t index, const std::vector<engine::TokenEvent>& events) { take(index, events.back()); },
        wait_options, [this](const Error& why) { refuse(why); });
    if (!started) sequences_.reset();
    return started;
}

void EmbeddingReply::refuse(const Error& why) {
    ++context_.stats->refused_busy;
    parts_ = {exa::gateway::refusal(why, host_->load())};
    if (on_ready_) on_ready_();
}

void EmbeddingReply::take(std::size_t index, const engine::TokenEvent& last) {
    if (!parts_.empty() || !last.finish) return;
    if (last.embedding) {
        vectors_[index] = *last.embedding;
        progress_due_ = true;
        if (--missing_ == 0) finish(std::nullopt);
    } else {
        finish(last.finish);
    }
    if (on_ready_) on_ready_();
}

void EmbeddingReply::finish(std::optional<FinishReason> failure) {
    if (failure == FinishReason::cancelled) {
        ++context_.stats->cancelled;
        parts_ = {wire::End{wire::EndCode::cancelled, "", host_->load()}};
    } else if (failure) {
        parts_ = {wire::End{wire::EndCode::failed, "the engine gave up", host_->load()}};
    } else {
        context_.stats->prompt_tokens += answer_.prompt_tokens;
        std::string body = openai::embeddings_json(answer_.model, vectors_, answer_.format, answer_.prompt_tokens);
        if (std::exchange(head_due_, false)) parts_.emplace_back(head());
        parts_.emplace_back(wire::Data{0, {}, std::move(body)});
        parts_.emplace_back(wire::End{wire::EndCode::ok, "", host_->load()});
    }
    vectors_.clear();
}

wire::Head EmbeddingReply::head() const {
    return {200, "application/json", host_->load()};
}

std::optional<Result<replica::ReplyPart>> EmbeddingReply::poll() {
    if (cancelled_) return Result<replica::ReplyPart>(error(io::errc::cancelled));
    if (parts_.empty()) {
        if (!std::exchange(progress_due_, false)) return std::nullopt;
        if (std::exchange(head_due_, false)) return Result<replica::ReplyPart>(head());
        return Result<replica::ReplyPart>(wire::Data{});
    }
    if (next_part_ == parts_.size()) return Result<replica::ReplyPart>(error(io::errc::closed, "the reply has ended"));
    return Result<replica::ReplyPart>(std::move(parts_[next_part_++]));
}

void EmbeddingReply::cancel() {
    if (std::exchange(cancelled_, true)) return;
    if (sequences_ && parts_.empty()) ++context_.stats->cancelled;
    if (sequences_) sequences_->cancel();
    if (on_ready_) on_ready_();
}

}  // namespace exa::app::builtin
