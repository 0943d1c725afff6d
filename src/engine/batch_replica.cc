#include "engine/batch_replica.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/check.h"
#include "engine/errc.h"
#include "engine/logprobs.h"

namespace exa::engine {

namespace {

// Prompts advance by at least this much a step.
constexpr std::uint32_t prompt_tokens_min = page_tokens;

// Empty when one of the sums is no finite number, or all are 0: there is no direction then.
Embedding unit_vector(const std::vector<double>& sums) {
    double squares = 0;
    for (const double sum : sums) squares += sum * sum;
    const double length = std::sqrt(squares);
    if (!std::isfinite(length) || length == 0) return {};
    Embedding embedding;
    embedding.reserve(sums.size());
    for (const double sum : sums) embedding.push_back(static_cast<float>(sum / length));
    return embedding;
}

}  // namespace

BatchReplica::BatchReplica(std::unique_ptr<Model> model, const BatchConfig& config, const BatchKvConfig& kv)
    : model_(std::move(model)),
      config_(config),
      kv_(kv),
      context_tokens_(std::min(model_->context_tokens(), model_->pages() * page_tokens)),
      pool_(model_->pages()) {
    EXA_CHECK(config.in_flight_limit >= 1 && config.step_tokens >= 1 && context_tokens_ >= 2);
    EXA_CHECK(kv.segment_tokens % page_tokens == 0 && (kv.segment_tokens == 0 || kv.crypto != nullptr));
}

BatchReplica::~BatchReplica() = default;

Result<void> BatchReplica::validate(const GenerateRequest& request) const {
    const auto invalid = [](std::string detail) { return error(errc::invalid_request, std::move(detail)); };
    if (request.prompt.empty()) return invalid("prompt: no tokens");
    if (request.embeds != (request.max_tokens == 0))
        return invalid("max_tokens: " + std::to_string(request.max_tokens) + ", 0 to embed, else at least 1");
    if (request.top_logprobs.value_or(0) > top_logprobs_max)
        return invalid("top_logprobs: " + std::to_string(*request.top_logprobs) + ", at most " +
                       std::to_string(top_logprobs_max));
    if (request.prompt_logprobs && !request.top_logprobs) return invalid("prompt_logprobs: without top_logprobs");
    if ((request.resumed_tokens > 0 && request.resumed_tokens >= request.max_tokens) ||
        request.resumed_tokens > request.prompt.size())
        return invalid("resumed_tokens: " + std::to_string(request.resumed_tokens) + ", below max_tokens " +
                       std::to_string(request.max_tokens) + " and at most the prompt's " +
                       std::to_string(request.prompt.size()));
    const Sampling& sampling = request.sampling;
    if (!(sampling.temperature >= 0 && sampling.temperature <= 2))
        return invalid("temperature: " + std::to_string(sampling.temperature) + ", 0 .. 2");
    if (!(sampling.top_p >= 0 && sampling.top_p <= 1))
        return invalid("top_p: " + std::to_string(sampling.top_p) + ", 0 .. 1");
    if (!(sampling.min_p >= 0 && sampling.min_p <= 1))
        return invalid("min_p: " + std::to_string(sampling.min_p) + ", 0 .. 1");
    EXA_TRY(check_edits(sampling, model_->vocab_size()));
    const std::uint64_t total = request.prompt.size() + std::uint64_t{request.max_tokens} - request.resumed_tokens;
    if (total > context_tokens_)
        return error(errc::prompt_too_long, std::to_string(request.prompt.size()) + " prompt tokens and " +
                                                std::to_string(request.max_tokens - request.resumed_tokens) +
                                                " to generate, of " + std::to_string(context_tokens_));
    for (const TokenId token : request.prompt)
        if (token >= model_->vocab_size())
            return invalid("prompt: token " + std::to_string(token) + ", below " +
                           std::to_string(model_->vocab_size()));
    return success();
}

Result<void> BatchReplica::submit(TimePoint, RequestId id, GenerateRequest request) {
    if (running_.size() + waiting_.size() >= config_.in_flight_limit)
        return error(errc::busy, std::to_string(config_.in_flight_limit) + " requests");
    EXA_TRY(validate(request));
    const auto same = [id](const auto& sequence) { return sequence->id == id; };
    if (std::ranges::any_of(running_, same) || std::ranges::any_of(waiting_, same))
        return error(errc::invalid_request, "request id " + std::to_string(id.value) + " is in flight");
    const std::span<const TokenId> tokens = request.prompt;
    const std::size_t prompt_tokens = tokens.size() - request.resumed_tokens;
    LogitEdits edits(request.sampling, tokens.first(prompt_tokens), tokens.subspan(prompt_tokens));
    const bool has_prompt_logprobs = request.prompt_logprobs && request.resumed_tokens == 0;
    const PageSerial root = request.kv_scope ? scope_serial(*request.kv_scope) : root_serial;
    std::optional<SegmentChain> chain;
    if (kv_.segment_tokens > 0 && request.kv_scope && !request.embeds && !has_prompt_logprobs)
        chain.emplace(*kv_.crypto, request.kv_scope->root, kv_.segment_tokens);
    waiting_.push_back(std::make_unique<Sequence>(
        Sequence{.id = id,
                 .tokens = std::move(request.prompt),
                 .max_tokens = request.max_tokens,
                 .sampling = std::move(request.sampling),
                 .edits = std::move(edits),
                 .top_logprobs = request.top_logprobs,
                 .prompt_logprobs = has_prompt_logprobs ? std::make_shared<std::vector<TokenLogprobs>>() : nullptr,
                 .stop_tokens = std::move(request.stop_tokens),
                 .min_tokens = request.min_tokens,
                 .answered = request.resumed_tokens,
                 .embeds = request.embeds,
                 .pooled = {},
                 .computed = 0,
                 .cached = std::nullopt,
                 .table = BlockTable(pool_, root),
                 .chain = std::move(chain),
                 .kv_tenant = request.kv_scope.value_or(KvScope{}).tenant,
                 .kv_session = request.kv_session,
                 .finished = 0,
                 .restore = std::nullopt}));
    return success();
}

void BatchReplica::cancel(RequestId id) {
    const auto remove_from = [this, id](auto& sequences) {
        const auto at = std::ranges::find_if(sequences, [id](const auto& sequence) { return sequence->id == id; });
        if (at == sequences.end()) return;
        end_without_token(**at, FinishReason::cancelled);
        sequences.erase(at);
    };
    remove_from(running_);
    remove_from(waiting_);
}

bool BatchReplica::step(TimePoint now) {
    finished_.clear();
    step_tokens_ = step_prefilled_ = 0;
    expire_restores(now);
    make_room_for_decodes();
    admit(now);
    const std::vector<Work> work = plan();
    if (work.empty()) return false;

    std::vector<Slice> slices;
    std::size_t rows = 0;
    for (const auto& [sequence, count] : work) {
        const bool wants_logits = !sequence->embeds && sequence->computed + count == sequence->length();
        step_tokens_ += count;
        step_prefilled_ += sequence->decoding() ? 0 : count;
        slices.push_back({std::span(sequence->tokens).subspan(sequence->computed, count), sequence->computed,
                          sequence->table.pages(), wants_logits, sequence->embeds,
                          sequence->prompt_logprobs != nullptr});
        rows += slices.back().logit_rows();
    }
    const std::size_t vocab = model_->vocab_size();
    logits_.resize(rows * vocab);
    const Result<void> computed = model_->forward(slices, logits_);

    std::vector<const Sequence*> ended;
    std::span<const float> logits = logits_;
    std::span<const float> hidden = computed ? model_->hidden() : std::span<const float>();
    for (std::size_t i = 0; i < work.size(); ++i) {
        Sequence& sequence = *work[i].sequence;
        if (!computed) {
            end_without_token(sequence, FinishReason::failed);
            ended.push_back(&sequence);
            continue;
        }
        sequence.computed += work[i].count;
        sequence.table.publish(std::span(sequence.tokens).first(sequence.computed));
        note_finished(sequence);
        if (sequence.embeds) {
            const std::size_t size = std::size_t{work[i].count} * model_->hidden_size();
            pool(sequence, hidden.first(size));
            hidden = hidden.subspan(size);
            if (sequence.computed < sequence.length()) continue;
            end_with_embedding(sequence);
            ended.push_back(&sequence);
        }
        const std::span<const float> own = logits.first(slices[i].logit_rows() * vocab);
        logits = logits.subspan(own.size());
        if (sequence.prompt_logprobs) note_prompt_logprobs(sequence, slices[i].start, own);
        if (slices[i].wants_logits && take_token(sequence, own.last(vocab))) ended.push_back(&sequence);
    }
    std::erase_if(running_, [&](const auto& sequence) { return std::ranges::count(ended, sequence.get()) > 0; });
    return true;
}

TimePoint BatchReplica::next_step() const {
    TimePoint next = time_never;
    for (const auto& sequence : running_)
        if (sequence->restore) next = std::min(next, sequence->restore->deadline);
    return next;
}

std::optional<TokenEvent> BatchReplica::poll_event() {
    if (events_.empty()) return std::nullopt;
    TokenEvent event = std::move(events_.front());
    events_.pop_front();
    return event;
}

ReplicaLoad BatchReplica::load() const {
    ReplicaLoad load;
    load.in_flight = static_cast<std::uint32_t>(running_.size() + waiting_.size());
    for (const auto& sequence : waiting_) load.queued_tokens += sequence->length();
    for (const auto& sequence : running_)
        if (!sequence->decoding()) load.queued_tokens += sequence->length() - sequence->computed;
    load.kv_used_permille = static_cast<std::uint16_t>(std::uint64_t{pool_.used()} * 1000 / pool_.size());
    load.step_prompt_tokens = step_prefilled_;
    load.preemptions = preemptions_;
    return load;
}

void BatchReplica::admit(TimePoint now) {
    while (!waiting_.empty()) {
        Sequence& sequence = *waiting_.front();
        // Pages have neither hidden states nor logits: those are computed again.
        const bool is_computed = sequence.embeds || sequence.prompt_logprobs != nullptr;
        const std::uint32_t cached = is_computed ? 0 : sequence.table.adopt_prefix(sequence.tokens);
        if (sequence.embeds) sequence.pooled.assign(model_->hidden_size(), 0.0);
        if (sequence.prompt_logprobs) sequence.prompt_logprobs->clear();
        if (!sequence.table.reserve(sequence.length())) {
            // Whoever came later waits too: a long prompt must not starve behind short ones.
            sequence.table.clear();
            return;
        }
        sequence.computed = cached;
        begin_restore(now, sequence);
        if (!sequence.cached && !sequence.restore) sequence.cached = cached;
        running_.push_back(std::move(waiting_.front()));
        waiting_.pop_front();
    }
}

void BatchReplica::preempt_last() {
    ++preemptions_;
    running_.back()->table.clear();
    running_.back()->restore.reset();
    waiting_.push_front(std::move(running_.back()));
    running_.pop_back();
}

void BatchReplica::make_room_for_decodes() {
    for (std::size_t i = 0; i < running_.size(); ++i) {
        while (i < running_.size() && !running_[i]->table.reserve(running_[i]->length())) {
            // One sequence alone fits, by the bound on prompt and answer.
            EXA_CHECK(running_.size() > 1);
            preempt_last();
        }
    }
}

std::vector<BatchReplica::Work> BatchReplica::plan() const {
    std::vector<Work> work;
    for (const auto& sequence : running_)
        if (sequence->decoding()) work.push_back({sequence.get(), 1});
    const auto decodes = static_cast<std::uint32_t>(work.size());
    std::uint32_t budget = std::max(prompt_tokens_min, config_.step_tokens - std::min(config_.step_tokens, decodes));
    for (const auto& sequence : running_) {
        if (sequence->restore || sequence->decoding() || budget == 0) continue;
        const std::uint32_t count = std::min(budget, sequence->length() - sequence->computed);
        work.push_back({sequence.get(), count});
        budget -= count;
    }
    return work;
}

void BatchReplica::note_prompt_logprobs(Sequence& sequence, std::uint32_t first, std::span<const float> logits) {
    const std::size_t vocab = model_->vocab_size();
    // What the last token's are of is not there yet.
    for (std::size_t next = first + 1; !logits.empty() && next < sequence.tokens.size(); ++next) {
        sequence.prompt_logprobs->push_back(
            logprobs_of(logits.first(vocab), sequence.tokens[next], *sequence.top_logprobs));
        logits = logits.subspan(vocab);
    }
}

bool BatchReplica::take_token(Sequence& sequence, std::span<const float> logits) {
    const bool may_stop = sequence.answered >= sequence.min_tokens;
    const std::span<const TokenId> banned = may_stop ? std::span<const TokenId>() : sequence.stop_tokens;
    const std::span<const float> edited = sequence.edits.apply(logits, banned, edited_);
    const std::optional<TokenId> token = sampler_.sample(edited, sequence.sampling, sequence.length());
    if (!token) {
        end_without_token(sequence, FinishReason::failed);
        return true;
    }
    TokenEvent event{.request = sequence.id,
                     .offset = sequence.answered,
                     .token = *token,
                     .cached_tokens = sequence.cached.value_or(0),
                     .finish = std::nullopt,
                     .has_token = true};
    if (sequence.top_logprobs)
        event.logprobs = std::make_shared<const TokenLogprobs>(logprobs_of(logits, *token, *sequence.top_logprobs));
    event.prompt_logprobs = std::exchange(sequence.prompt_logprobs, nullptr);
    sequence.edits.add(*token);
    sequence.tokens.push_back(*token);
    ++sequence.answered;
    if (std::ranges::count(sequence.stop_tokens, *token) > 0)
        event.finish = FinishReason::stop;
    else if (sequence.answered >= sequence.max_tokens)
        event.finish = FinishReason::length;
    const bool ended = event.finish.has_value();
    events_.push_back(std::move(event));
    return ended;
}

// In the order of positions, however they were cut into steps.
void BatchReplica::pool(Sequence& sequence, std::span<const float> hidden) {
    const std::size_t width = sequence.pooled.size();
    for (std::size_t i = 0; i < hidden.size(); ++i) sequence.pooled[i % width] += static_cast<double>(hidden[i]);
}

void BatchReplica::end_with_embedding(const Sequence& sequence) {
    Embedding embedding = unit_vector(sequence.pooled);
    end_without_token(sequence, embedding.empty() ? FinishReason::failed : FinishReason::stop);
    if (!embedding.empty()) events_.back().embedding = std::make_shared<const Embedding>(std::move(embedding));
}

void BatchReplica::end_without_token(const Sequence& sequence, FinishReason reason) {
    events_.push_back({.request = sequence.id,
                       .offset = sequence.answered,
                       .token = 0,
                       .cached_tokens = sequence.cached.value_or(0),
                       .finish = reason,
                       .has_token = false});
}

}  // namespace exa::engine
