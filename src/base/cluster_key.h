// ClusterKey: a secret that the peers of an encrypted cluster share, and the number by which they speak of it.
//
// Nothing is ever encrypted with it directly: gossip and links derive keys of their own from it (HKDF, with labels that
// differ), so that one secret serves both.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/crypto.h"

namespace exa {

// Tells keys apart without telling anything of them: it travels in the clear and stands in logs. 0 is no key.
struct KeyId {
    std::uint32_t value = 0;
    auto operator<=>(const KeyId&) const = default;
};

using KeySecret = std::array<std::uint8_t, 32>;

struct ClusterKey {
    KeyId id;
    KeySecret secret{};  // never in a log, an answer or a message outside of a peer link
    bool operator==(const ClusterKey&) const = default;
};

// `secret` with its id: the first four bytes, not all 0, of a labelled hash of the secret.
ClusterKey cluster_key(const Crypto& crypto, const KeySecret& secret);

// 8 lower-case hexadecimal digits.
std::string to_string(KeyId id);

// Nothing unless `text` is exactly that and not 0.
std::optional<KeyId> parse_key_id(std::string_view text);

}  // namespace exa
