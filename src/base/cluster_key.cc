#include "base/cluster_key.h"

#include "base/check.h"

namespace exa {

namespace {

constexpr std::string_view id_label = "exaserve cluster key id v1";

KeyId big_endian(const std::uint8_t* bytes) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < 4; ++i) value = value << 8 | bytes[i];
    return {value};
}

}  // namespace

ClusterKey cluster_key(const Crypto& crypto, const KeySecret& secret) {
    const Digest digest = crypto.hmac_sha256(secret, as_bytes(id_label));
    KeyId id;
    for (std::size_t at = 0; id.value == 0 && at < digest.size(); at += 4) id = big_endian(digest.data() + at);
    EXA_CHECK(id.value != 0);
    return {id, secret};
}

std::string to_string(KeyId id) {
    std::array<std::uint8_t, 4> bytes;
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(id.value >> (24 - 8 * i));
    return to_hex(bytes);
}

std::optional<KeyId> parse_key_id(std::string_view text) {
    std::array<std::uint8_t, 4> bytes;
    if (!from_hex(text, bytes)) return std::nullopt;
    const KeyId id = big_endian(bytes.data());
    return id.value == 0 ? std::nullopt : std::optional(id);
}

}  // namespace exa
