#include <algorithm>
#include <utility>

#include "base/check.h"
#include "engine/batch_replica.h"

namespace exa::engine {

std::optional<KvWant> BatchReplica::poll_want(TimePoint now) {
    make_room_for_decodes();
    admit(now);
    while (!wants_.empty()) {
        KvWant want = std::move(wants_.front());
        wants_.pop_front();
        // Cancelled or preempted meanwhile.
        if (find_waiting(want.id) != nullptr) return want;
    }
    return std::nullopt;
}

bool BatchReplica::give(TimePoint now, RestoreId id, ByteView payload) {
    Sequence* sequence = find_waiting(id);
    if (sequence == nullptr) return false;
    if (payload.size() != segment_bytes()) {
        end_restore(*sequence);
        return false;
    }
    finished_.clear();
    Restore& restore = *sequence->restore;
    const std::uint32_t first = restore.next * kv_.segment_tokens;
    // Pages that were found here are others' too.
    model_->import_kv(sequence->table.pages(), first, kv_.segment_tokens, sequence->computed - first, payload);
    sequence->computed = first + kv_.segment_tokens;
    sequence->table.publish(std::span(sequence->tokens).first(sequence->computed));
    restore.bytes += payload.size();
    if (++restore.next < restore.end) return true;
    end_restore(now, id);
    return false;
}

void BatchReplica::end_restore(TimePoint now, RestoreId id) {
    Sequence* sequence = find_waiting(id);
    if (sequence == nullptr) return;
    cost_.handle_restore(sequence->restore->bytes, now - sequence->restore->began);
    end_restore(*sequence);
}

std::optional<FinishedSegment> BatchReplica::poll_finished() {
    if (finished_.empty()) return std::nullopt;
    FinishedSegment segment = std::move(finished_.front());
    finished_.pop_front();
    return segment;
}

void BatchReplica::copy_out(const FinishedSegment& segment, std::span<std::uint8_t> out) const {
    model_->export_kv(segment.pages, 0, kv_.segment_tokens, out);
}

void BatchReplica::note_step(Duration took) {
    // Steps that mostly decode say little of prompts.
    if (2 * step_prefilled_ < step_tokens_ || step_prefilled_ < page_tokens) return;
    cost_.handle_prefill(step_tokens_, took);
}

void BatchReplica::begin_restore(TimePoint now, Sequence& sequence) {
    if (!sequence.chain) return;
    // The last token must be computed for its logits.
    const std::uint32_t end = (sequence.length() - 1) / kv_.segment_tokens;
    const std::uint32_t next = sequence.computed / kv_.segment_tokens;
    if (next >= end) return;
    const std::uint32_t tokens = end * kv_.segment_tokens - sequence.computed;
    if (!cost_.is_worth(tokens, (end - next) * segment_bytes())) return;
    const Duration wait = std::clamp(cost_.prefill_time(tokens).value_or(kv_.restore_wait_max), kv_.restore_wait_min,
                                     kv_.restore_wait_max);
    sequence.chain->extend(sequence.tokens);
    sequence.restore = Restore{.id = {++last_restore_}, .next = next, .end = end, .began = now, .deadline = now + wait};
    KvWant want{.id = sequence.restore->id,
                .request = sequence.id,
                .keys = {},
                .deadline = sequence.restore->deadline,
                .compute = cost_.prefill_time(kv_.segment_tokens)};
    for (std::uint32_t segment = next; segment < end; ++segment) want.keys.push_back(sequence.chain->key(segment));
    wants_.push_back(std::move(want));
}

void BatchReplica::end_restore(Sequence& sequence) {
    sequence.restore.reset();
    if (!sequence.cached) sequence.cached = sequence.computed;
}

void BatchReplica::expire_restores(TimePoint now) {
    for (const auto& sequence : running_) {
        if (!sequence->restore || sequence->restore->deadline > now) continue;
        // At best all of it would have been there now: what never came must not look cheap.
        const Restore& restore = *sequence->restore;
        cost_.handle_restore(restore.bytes + (restore.end - restore.next) * segment_bytes(), now - restore.began);
        end_restore(*sequence);
    }
}

BatchReplica::Sequence* BatchReplica::find_waiting(RestoreId id) {
    const auto found = std::ranges::find_if(
        running_, [id](const auto& sequence) { return sequence->restore && sequence->restore->id == id; });
    return found == running_.end() ? nullptr : found->get();
}

void BatchReplica::note_finished(Sequence& sequence) {
    if (!sequence.chain) return;
    sequence.chain->extend(std::span(sequence.tokens).first(sequence.computed));
    constexpr auto pages_of = [](std::uint32_t tokens) { return tokens / page_tokens; };
    for (; (sequence.finished + 1) * kv_.segment_tokens <= sequence.computed; ++sequence.finished) {
        const auto pages = sequence.table.pages().subspan(pages_of(sequence.finished * kv_.segment_tokens),
                                                          pages_of(kv_.segment_tokens));
        finished_.push_back({sequence.chain->key(sequence.finished),
                             sequence.chain->parent(sequence.finished),
                             sequence.kv_tenant,
                             sequence.kv_session,
                             {pages.begin(), pages.end()}});
    }
}

}  // namespace exa::engine
