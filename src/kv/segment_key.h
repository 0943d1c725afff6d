// SegmentKey: names a run of KV cache by what it was computed from, so that equal content has equal names everywhere
// and a name is never stale.
//
// root = SHA-256("exaserve segment root 1" | fingerprint | tenant salt)
// key  = SHA-256("exaserve segment 1" | parent key | tokens), the parent of the first segment being the root
//
// So a key also stands for all tokens before it. Integers are little-endian, texts and the salt follow their u32
// length, tokens are u32. The fingerprint is everything that changes the bytes of the cache; the salt keeps tenants
// apart: one cannot ask whether another has sent a prompt.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/crypto.h"
#include "base/mutant.h"

namespace exa::kv {

struct SegmentKey {
    Digest bytes{};
    auto operator<=>(const SegmentKey&) const = default;
};

struct RopeParameters {
    std::uint32_t dimensions = 0;  // of a head that are rotated
    double base = 10'000.0;
    std::string scaling;  // "", "linear", "yarn"
    double factor = 1.0;
    bool operator==(const RopeParameters&) const = default;
};

struct CacheFingerprint {
    Digest weights{};      // of the model file
    std::string kv_dtype;  // "f16"
    std::string layout;    // of a segment's bytes
    RopeParameters rope;
    std::uint32_t version = 0;  // of the code that computes and lays out the cache
    bool operator==(const CacheFingerprint&) const = default;
};

inline constexpr std::uint32_t segment_tokens_default = 64;

SegmentKey root_key(const Crypto& crypto, const CacheFingerprint& fingerprint, ByteView tenant_salt,
                    Mutant mutant = Mutant::none);

SegmentKey child_key(const Crypto& crypto, const SegmentKey& parent, std::span<const std::uint32_t> tokens);

// The keys of all whole segments of `tokens`, in order; a rest shorter than `segment_tokens` (not 0) has none.
std::vector<SegmentKey> segment_chain(const Crypto& crypto, const SegmentKey& root,
                                      std::span<const std::uint32_t> tokens, std::uint32_t segment_tokens);

// The key as ring::choose_owners takes it: its first eight bytes, little-endian.
std::uint64_t placement(const SegmentKey& key);

// 64 lower-case hexadecimal digits.
std::string to_string(const SegmentKey& key);
std::optional<SegmentKey> parse_segment_key(std::string_view text);

}  // namespace exa::kv
