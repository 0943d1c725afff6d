// ChainModel: a model whose logits depend on every token before them, through the pages and nothing else.
//
// A page slot holds the hash chain over the tokens up to its position. So a page that is shared wrongly, freed too
// early or written by a neighbour shows in the answer, and the right answer can be computed without any pages.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "base/check.h"
#include "base/hash.h"
#include "base/rng.h"
#include "engine/batch_replica.h"
#include "engine/errc.h"
#include "engine/logit_edits.h"

namespace exa::engine::test {

inline std::uint64_t extend(std::uint64_t chain, TokenId token) {
    return hash64(chain, token);
}

inline float chain_logit(std::uint64_t chain, TokenId token) {
    return static_cast<float>(hash64(chain, token, 1) >> 40) * 0x1p-22F;
}

inline float chain_hidden(std::uint64_t chain, std::uint32_t n) {
    return static_cast<float>(hash64(chain, n, 2) >> 40) * 0x1p-24F - 0.5F;
}

class ChainModel final : public Model {
  public:
    ChainModel(std::uint32_t vocab, std::uint32_t context, std::uint32_t pages)
        : vocab_(vocab), context_(context), memory_(pages) {}

    std::uint32_t vocab_size() const override { return vocab_; }
    std::uint32_t context_tokens() const override { return context_; }
    std::uint32_t pages() const override { return static_cast<std::uint32_t>(memory_.size()); }

    Result<void> forward(std::span<const Slice> slices, std::span<float> logits) override {
        if (fail) return error(errc::model_failed, "as told");
        steps.emplace_back();
        hidden_.clear();
        std::size_t row = 0;
        for (const Slice& slice : slices) {
            steps.back().push_back(static_cast<std::uint32_t>(slice.tokens.size()));
            std::uint64_t chain = slice.start == 0 ? 0 : at(slice, slice.start - 1);
            for (std::size_t i = 0; i < slice.tokens.size(); ++i) {
                at(slice, slice.start + i) = chain = extend(chain, slice.tokens[i]);
                const bool is_last = i + 1 == slice.tokens.size();
                if (slice.wants_all_logits || (slice.wants_logits && is_last)) {
                    for (TokenId v = 0; v < vocab_; ++v)
                        logits[row * vocab_ + v] =
                            nan ? std::numeric_limits<float>::quiet_NaN() : chain_logit(chain, v);
                    ++row;
                }
                if (!slice.wants_hidden) continue;
                for (std::uint32_t n = 0; n < hidden_size(); ++n) hidden_.push_back(chain_hidden(chain, n));
            }
        }
        EXA_CHECK(row * vocab_ == logits.size());
        return success();
    }

    std::uint32_t hidden_size() const override { return 8; }
    std::span<const float> hidden() const override { return hidden_; }

    std::size_t kv_bytes(std::uint32_t tokens) const override { return tokens * sizeof(std::uint64_t); }
    void export_kv(std::span<const PageId> pages, std::uint32_t first, std::uint32_t tokens,
                   std::span<std::uint8_t> out) const override {
        EXA_CHECK(out.size() == kv_bytes(tokens));
        for (std::uint32_t i = 0; i < tokens; ++i)
            std::memcpy(out.data() + i * sizeof(std::uint64_t),
                        &memory_[pages[(first + i) / page_tokens]][(first + i) % page_tokens], sizeof(std::uint64_t));
    }
    void import_kv(std::span<const PageId> pages, std::uint32_t first, std::uint32_t tokens, std::uint32_t skip,
                   ByteView payload) override {
        EXA_CHECK(payload.size() == kv_bytes(tokens));
        imported += tokens - skip;
        for (std::uint32_t i = skip; i < tokens; ++i)
            std::memcpy(&memory_[pages[(first + i) / page_tokens]][(first + i) % page_tokens],
                        payload.data() + i * sizeof(std::uint64_t), sizeof(std::uint64_t));
    }

    bool fail = false;
    bool nan = false;
    std::vector<std::vector<std::uint32_t>> steps;  // tokens of every slice of every step
    std::uint32_t imported = 0;                     // tokens

  private:
    std::uint64_t& at(const Slice& slice, std::size_t position) {
        return memory_[slice.pages[position / page_tokens]][position % page_tokens];
    }

    std::uint32_t vocab_;
    std::uint32_t context_;
    std::vector<std::array<std::uint64_t, page_tokens>> memory_;
    std::vector<float> hidden_;
};

// The answer ChainModel must give, from the definition alone.
inline std::vector<TokenId> expected_answer(std::uint32_t vocab, const GenerateRequest& request) {
    std::vector<TokenId> tokens = request.prompt;
    std::vector<TokenId> answer;
    Sampler sampler;
    const std::size_t prompt_tokens = request.prompt.size() - request.resumed_tokens;
    for (std::uint32_t n = request.resumed_tokens; n < request.max_tokens; ++n) {
        std::uint64_t chain = 0;
        for (const TokenId token : tokens) chain = extend(chain, token);
        std::vector<float> logits(vocab);
        for (TokenId v = 0; v < vocab; ++v) logits[v] = chain_logit(chain, v);
        const LogitEdits edits(request.sampling, std::span(tokens).first(prompt_tokens),
                               std::span(tokens).subspan(prompt_tokens));
        std::vector<float> edited;
        const std::vector<TokenId> banned = n < request.min_tokens ? request.stop_tokens : std::vector<TokenId>();
        const TokenId next = *sampler.sample(edits.apply(logits, banned, edited), request.sampling, tokens.size());
        tokens.push_back(next);
        answer.push_back(next);
        if (std::ranges::count(request.stop_tokens, next) > 0) break;
    }
    return answer;
}

inline GenerateRequest make_request(std::uint32_t prompt_tokens, std::uint32_t max_tokens, std::uint64_t seed,
                                    std::uint32_t vocab = 50) {
    GenerateRequest request;
    Rng rng(seed);
    for (std::uint32_t i = 0; i < prompt_tokens; ++i) request.prompt.push_back(static_cast<TokenId>(rng.below(vocab)));
    request.max_tokens = max_tokens;
    request.sampling.temperature = 0;
    return request;
}

// What a request's events add up to.
struct Outcome {
    std::vector<TokenId> tokens;
    std::optional<FinishReason> finish;
    std::uint32_t first_offset = 0;
    std::uint32_t cached_tokens = 0;
    bool contiguous = true;
};

inline void collect(Replica& replica, std::map<RequestId, Outcome>& outcomes) {
    while (const auto event = replica.poll_event()) {
        Outcome& outcome = outcomes[event->request];
        if (outcome.finish) outcome.contiguous = false;
        if (event->has_token) {
            if (outcome.tokens.empty()) outcome.first_offset = event->offset;
            if (event->offset != outcome.first_offset + outcome.tokens.size()) outcome.contiguous = false;
            outcome.tokens.push_back(event->token);
        }
        outcome.cached_tokens = event->cached_tokens;
        if (event->finish) outcome.finish = event->finish;
    }
}

inline std::map<RequestId, Outcome> run(Replica& replica) {
    std::map<RequestId, Outcome> outcomes;
    while (replica.step({})) collect(replica, outcomes);
    collect(replica, outcomes);
    return outcomes;
}

}  // namespace exa::engine::test
