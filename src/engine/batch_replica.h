// BatchReplica: continuous batching over a Model.
//
// Every step runs one token of each request that is generating, then fills the step up with chunks of prompts, in the
// order of admission. The bound on a step's tokens is what keeps one long prompt from stalling everybody's next token.
// A request is admitted when pages for its whole prompt are there; when pages run out later, the request admitted last
// gives its pages back and waits in front of the queue (its tokens stay, so its answer goes on where it was). Since the
// oldest request never yields to a younger one, and one alone always fits, all requests end.
//
// The model's logits do not depend on batch mates (engine/model.h) and sampling is counter-based, so neither do
// answers. Nor do they depend on where keys and values came from: a KvPort's segments are what would have been
// computed.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "base/crypto.h"
#include "engine/block_table.h"
#include "engine/kv_port.h"
#include "engine/logit_edits.h"
#include "engine/model.h"
#include "engine/page_pool.h"
#include "engine/replica.h"
#include "engine/restore_cost.h"
#include "engine/sampler.h"
#include "engine/segment_chain.h"

namespace exa::engine {

struct BatchConfig {
    // Requests in flight, waiting ones included; submit() answers busy above. At least 1.
    std::uint32_t in_flight_limit = 8;
    // Tokens of one step, prompt chunks included; also the bound on how late a cancel is heard: 32 tokens are about 80
    // ms of the default model on one core. Larger: weights are read less often for each prompt token. At least 1;
    // prompts get 16 tokens a step even when generating requests take it all.
    std::uint32_t step_tokens = 32;
};

struct BatchKvConfig {
    // A multiple of page_tokens; 0: no KV leaves the replica and none comes.
    std::uint32_t segment_tokens = 0;
    const Crypto* crypto = nullptr;  // for keys; must outlive the replica
    // The longest wait for segments. Where it is known what computing them takes, a wait is no longer than that, nor
    // shorter than restore_wait_min: so a store that hangs makes a first token at most twice as late.
    Duration restore_wait_max = std::chrono::seconds(2);
    Duration restore_wait_min = std::chrono::milliseconds(20);
};

class BatchReplica final : public Replica, private KvPort {
  public:
    // The context is the model's, or what its pages hold if that is less.
    BatchReplica(std::unique_ptr<Model> model, const BatchConfig& config, const BatchKvConfig& kv = {});
    ~BatchReplica() override;

    std::uint32_t context_tokens() const { return context_tokens_; }
    Abilities abilities() const override {
        return {.logprobs = true, .logit_edits = true, .embedding_width = model_->hidden_size()};
    }

    // Also errc::invalid_request, for a field out of its range, a token id outside the vocabulary or an id in flight.
    Result<void> submit(TimePoint now, RequestId id, GenerateRequest request) override;
    // The request's last event is then a FinishReason::cancelled without a token, behind those not yet polled.
    void cancel(RequestId id) override;
    bool step(TimePoint now) override;
    TimePoint next_step() const override;
    std::optional<TokenEvent> poll_event() override;
    ReplicaLoad load() const override;
    KvPort* kv_port() override { return kv_.segment_tokens > 0 ? this : nullptr; }

  private:
    // A wait for segments; the next of them begins at position next * segment_tokens.
    struct Restore {
        RestoreId id;
        std::uint32_t next = 0;
        std::uint32_t end = 0;
        std::uint64_t bytes = 0;  // given so far
        TimePoint began{};
        TimePoint deadline{};
    };

    struct Sequence {
        RequestId id;
        std::vector<TokenId> tokens;  // prompt and answer so far
        std::uint32_t max_tokens = 0;
        Sampling sampling;
        LogitEdits edits;
        std::optional<std::uint32_t> top_logprobs;
        std::shared_ptr<std::vector<TokenLogprobs>> prompt_logprobs;  // those so far, until the answer begins
        std::vector<TokenId> stop_tokens;
        std::uint32_t min_tokens = 0;
        std::uint32_t answered = 0;  // tokens of the answer, resumed ones included
        bool embeds = false;
        std::vector<double> pooled;           // of one that embeds: the sum of the computed tokens' hidden states
        std::uint32_t computed = 0;           // leading tokens whose keys and values are in the pages; set by admit()
        std::optional<std::uint32_t> cached;  // of the prompt, found at the first admission
        BlockTable table;
        std::optional<SegmentChain> chain;  // nothing: its KV stays here
        std::uint64_t kv_tenant = 0;
        std::uint64_t kv_session = 0;
        std::uint32_t finished = 0;      // leading segments that were told of
        std::optional<Restore> restore;  // while it waits for segments

        std::uint32_t length() const { return static_cast<std::uint32_t>(tokens.size()); }
        bool decoding() const { return !restore && computed + 1 == tokens.size(); }
    };

    // Tokens computed .. computed + count - 1 of a sequence.
    struct Work {
        Sequence* sequence;
        std::uint32_t count;
    };

    std::uint32_t segment_tokens() const override { return kv_.segment_tokens; }
    std::size_t segment_bytes() const override { return model_->kv_bytes(kv_.segment_tokens); }
    std::optional<KvWant> poll_want(TimePoint now) override;
    bool give(TimePoint now, RestoreId id, ByteView payload) override;
    void end_restore(TimePoint now, RestoreId id) override;
    std::optional<FinishedSegment> poll_finished() override;
    void copy_out(const FinishedSegment& segment, std::span<std::uint8_t> out) const override;
    void note_step(Duration took) override;

    Result<void> validate(const GenerateRequest& request) const;
    void admit(TimePoint now);
    void preempt_last();
    void make_room_for_decodes();
    std::vector<Work> plan() const;
    // Of the tokens from position `first` on, whose logits these are: [tokens, vocab_size].
    void note_prompt_logprobs(Sequence& sequence, std::uint32_t first, std::span<const float> logits);
    // Whether the sequence has ended.
    bool take_token(Sequence& sequence, std::span<const float> logits);
    static void pool(Sequence& sequence, std::span<const float> hidden);
    void end_with_embedding(const Sequence& sequence);
    void end_without_token(const Sequence& sequence, FinishReason reason);

    // Of the KV port: batch_replica_kv.cc.
    void begin_restore(TimePoint now, Sequence& sequence);
    static void end_restore(Sequence& sequence);
    void expire_restores(TimePoint now);
    Sequence* find_waiting(RestoreId id);
    void note_finished(Sequence& sequence);

    std::unique_ptr<Model> model_;
    const BatchConfig config_;
    const BatchKvConfig kv_;
    const std::uint32_t context_tokens_;
    PagePool pool_;
    Sampler sampler_;
    std::vector<std::unique_ptr<Sequence>> running_;  // in order of admission
    std::deque<std::unique_ptr<Sequence>> waiting_;
    std::deque<TokenEvent> events_;
    std::uint64_t preemptions_ = 0;
    std::deque<KvWant> wants_;
    std::deque<FinishedSegment> finished_;
    RestoreCost cost_;
    std::uint64_t last_restore_ = 0;
    std::uint32_t step_tokens_ = 0;     // of the last step
    std::uint32_t step_prefilled_ = 0;  // of them, of prompts
    std::vector<float> logits_;         // scratch
    std::vector<float> edited_;         // likewise
};

}  // namespace exa::engine
