// Conversations: what engines would compute, so that segments have something to be checked against. A conversation
// grows by segments; the content of a segment follows from its model, its tenant and all tokens up to it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/crypto.h"
#include "base/mutant.h"
#include "base/rng.h"
#include "kv/segment.h"
#include "kv/segment_key.h"

namespace exa::sim {

struct ConversationShape {
    std::uint32_t conversations = 50;
    std::uint32_t tenants = 2;
    std::uint32_t models = 2;
    std::uint32_t segments_max = 40;  // then the conversation starts over
    double shared = 0.3;              // share of conversations that begin with the same tokens (a system prompt)
};

class Conversations {
  public:
    // What a segment must hold, from its model, tenant and tokens.
    struct Content {
        std::uint64_t tenant = 0;
        std::uint64_t tokens = 0;  // hash of all of them, and of the model
        bool operator==(const Content&) const = default;
    };
    struct Segment {
        kv::SegmentKey key;
        kv::SegmentKey parent;
        Content content;
    };
    struct Conversation {
        std::uint32_t tenant = 0;
        std::uint32_t model = 0;
        bool shared = false;
        std::vector<Segment> segments;
    };

    // `crypto` outlives it.
    Conversations(const Crypto& crypto, const ConversationShape& shape, Mutant mutant, Rng rng);

    std::uint32_t pick() { return static_cast<std::uint32_t>(rng_.below(conversations_.size())); }
    const Conversation& conversation(std::uint32_t number) const { return conversations_[number]; }
    // Adds one to `most` segments, after starting over when it has become long.
    void grow(std::uint32_t number, std::uint32_t most);

    // Sealed, with its content as payload.
    kv::SealedSegment make(const kv::SegmentSealer& sealer, const Segment& segment, std::uint64_t nonce) const;
    // Nothing when the bytes are no content.
    static std::optional<Content> read(const kv::SegmentBuffer& sealed);

  private:
    const Crypto& crypto_;
    const ConversationShape shape_;
    const Mutant mutant_;
    Rng rng_;
    std::vector<Conversation> conversations_;
};

}  // namespace exa::sim
