#include "sim/kv/conversations.h"

#include <array>
#include <cstring>
#include <string>

#include "base/hash.h"
#include "kv/tenant.h"

namespace exa::sim {

namespace {

constexpr std::uint32_t segment_tokens = 16;
// Segments of the system prompt that shared conversations begin with.
constexpr std::size_t system_segments = 3;

}  // namespace

Conversations::Conversations(const Crypto& crypto, const ConversationShape& shape, Mutant mutant, Rng rng)
    : crypto_(crypto), shape_(shape), mutant_(mutant), rng_(rng), conversations_(shape.conversations) {
    for (std::uint32_t number = 0; number < conversations_.size(); ++number) {
        Conversation& conversation = conversations_[number];
        conversation.tenant = static_cast<std::uint32_t>(rng_.below(shape_.tenants));
        conversation.model = static_cast<std::uint32_t>(rng_.below(shape_.models));
        conversation.shared = rng_.unit() < shape_.shared;
    }
}

void Conversations::grow(std::uint32_t number, std::uint32_t most) {
    Conversation& conversation = conversations_[number];
    if (conversation.segments.size() >= shape_.segments_max) conversation.segments.clear();
    kv::CacheFingerprint fingerprint;
    fingerprint.version = conversation.model;
    const Digest salt = kv::tenant_salt(crypto_, as_bytes("root"), std::to_string(conversation.tenant));
    for (std::uint64_t more = 1 + rng_.below(most); more > 0; --more) {
        const std::size_t place = conversation.segments.size();
        std::array<std::uint32_t, segment_tokens> tokens{};
        for (std::uint32_t i = 0; i < segment_tokens; ++i)
            tokens[i] = conversation.shared && place < system_segments ? static_cast<std::uint32_t>(place * 100 + i)
                                                                       : static_cast<std::uint32_t>(rng_.next());
        const kv::SegmentKey parent =
            place == 0 ? kv::root_key(crypto_, fingerprint, salt, mutant_) : conversation.segments.back().key;
        const std::uint64_t before = place == 0 ? conversation.model + 1 : conversation.segments.back().content.tokens;
        const ByteView bytes{reinterpret_cast<const std::uint8_t*>(tokens.data()), sizeof(tokens)};
        conversation.segments.push_back(
            {kv::child_key(crypto_, parent, tokens), parent, {conversation.tenant, hash64(bytes, before)}});
    }
}

kv::SealedSegment Conversations::make(const kv::SegmentSealer& sealer, const Segment& segment,
                                      std::uint64_t nonce) const {
    auto buffer = std::make_shared<kv::SegmentBuffer>(kv::segment_header_size + sizeof(Content));
    std::memcpy(buffer->bytes().data() + kv::segment_header_size, &segment.content, sizeof(Content));
    kv::SegmentHead head;
    head.key = segment.key;
    head.parent = segment.parent;
    head.tenant = segment.content.tenant;
    head.tokens = segment_tokens;
    std::memcpy(head.nonce.data(), &nonce, sizeof(nonce));
    sealer.seal(head, *buffer);
    return buffer;
}

std::optional<Conversations::Content> Conversations::read(const kv::SegmentBuffer& sealed) {
    if (sealed.size() != kv::segment_header_size + sizeof(Content)) return std::nullopt;
    Content content;
    std::memcpy(&content, sealed.view().data() + kv::segment_header_size, sizeof(Content));
    return content;
}

}  // namespace exa::sim
