// SegmentChain: the keys of one sequence's whole segments, as it grows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/crypto.h"
#include "engine/replica.h"
#include "kv/segment_key.h"

namespace exa::engine {

class SegmentChain {
  public:
    // `crypto` must outlive it. `segment_tokens` is not 0.
    SegmentChain(const Crypto& crypto, const kv::SegmentKey& root, std::uint32_t segment_tokens)
        : crypto_(&crypto), segment_tokens_(segment_tokens), keys_{root} {}

    // Makes the keys of `tokens`, the sequence from its first token on; it never loses any.
    void extend(std::span<const TokenId> tokens) {
        for (std::size_t at = std::size_t{count()} * segment_tokens_; at + segment_tokens_ <= tokens.size();
             at += segment_tokens_)
            keys_.push_back(kv::child_key(*crypto_, keys_.back(), tokens.subspan(at, segment_tokens_)));
    }

    // Whole segments so far.
    std::uint32_t count() const { return static_cast<std::uint32_t>(keys_.size()) - 1; }
    const kv::SegmentKey& key(std::uint32_t segment) const { return keys_[segment + 1]; }
    const kv::SegmentKey& parent(std::uint32_t segment) const { return keys_[segment]; }

  private:
    const Crypto* crypto_;
    std::uint32_t segment_tokens_;
    std::vector<kv::SegmentKey> keys_;  // the root before them
};

}  // namespace exa::engine
