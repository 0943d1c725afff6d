#include "kv/segment_key.h"

#include <bit>

#include "base/check.h"

namespace exa::kv {

namespace {

template <class T>
void put_le(Bytes& out, T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i) out.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
}

void put(Bytes& out, ByteView bytes) {
    out.insert(out.end(), bytes.begin(), bytes.end());
}

void put_sized(Bytes& out, ByteView bytes) {
    put_le(out, static_cast<std::uint32_t>(bytes.size()));
    put(out, bytes);
}

}  // namespace

SegmentKey root_key(const Crypto& crypto, const CacheFingerprint& fingerprint, ByteView tenant_salt, Mutant mutant) {
    if (mutant == Mutant::models_share_keys) return root_key(crypto, {}, tenant_salt);
    if (mutant == Mutant::tenants_share_salt) return root_key(crypto, fingerprint, {});
    Bytes message;
    put(message, as_bytes("exaserve segment root 1"));
    put(message, fingerprint.weights);
    put_sized(message, as_bytes(fingerprint.kv_dtype));
    put_sized(message, as_bytes(fingerprint.layout));
    put_le(message, fingerprint.rope.dimensions);
    put_le(message, std::bit_cast<std::uint64_t>(fingerprint.rope.base));
    put_sized(message, as_bytes(fingerprint.rope.scaling));
    put_le(message, std::bit_cast<std::uint64_t>(fingerprint.rope.factor));
    put_le(message, fingerprint.version);
    put_sized(message, tenant_salt);
    return {crypto.sha256(message)};
}

SegmentKey child_key(const Crypto& crypto, const SegmentKey& parent, std::span<const std::uint32_t> tokens) {
    const ByteView domain = as_bytes("exaserve segment 1");
    Bytes message;
    message.reserve(domain.size() + parent.bytes.size() + tokens.size() * 4);
    put(message, domain);
    put(message, parent.bytes);
    for (const std::uint32_t token : tokens) put_le(message, token);
    return {crypto.sha256(message)};
}

std::vector<SegmentKey> segment_chain(const Crypto& crypto, const SegmentKey& root,
                                      std::span<const std::uint32_t> tokens, std::uint32_t segment_tokens) {
    EXA_CHECK(segment_tokens > 0);
    std::vector<SegmentKey> keys;
    keys.reserve(tokens.size() / segment_tokens);
    SegmentKey parent = root;
    for (; tokens.size() >= segment_tokens; tokens = tokens.subspan(segment_tokens)) {
        parent = child_key(crypto, parent, tokens.first(segment_tokens));
        keys.push_back(parent);
    }
    return keys;
}

std::uint64_t placement(const SegmentKey& key) {
    std::uint64_t value = 0;
    for (std::size_t i = 8; i-- > 0;) value = value << 8 | key.bytes[i];
    return value;
}

std::string to_string(const SegmentKey& key) {
    return to_hex(key.bytes);
}

std::optional<SegmentKey> parse_segment_key(std::string_view text) {
    SegmentKey key;
    if (!from_hex(text, key.bytes)) return std::nullopt;
    return key;
}

}  // namespace exa::kv
