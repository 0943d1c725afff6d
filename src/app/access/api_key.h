// ApiKey: what a client sends to say who it is, and what a peer keeps to know it again.
//
//   sk-exa-1a2b3c4d-<64 hexadecimal digits>      the key: its id, in the open, and 32 random bytes
//   sha256:<32 digits>:<64 digits>               what is kept: a salt, and SHA-256 of salt and bytes
//
// The id says which entry to compare with, so that one hash is computed however many keys there are. The secret is
// random, not chosen by people: 2^256 guesses need no slow hash.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/crypto.h"

namespace exa::app::access {

// Tells keys apart in lists and logs, and tells nothing of them.
struct ApiKeyId {
    std::uint32_t value = 0;
    auto operator<=>(const ApiKeyId&) const = default;
};

struct ApiKey {
    ApiKeyId id;
    std::array<std::uint8_t, 32> secret{};
};

struct ApiKeyHash {
    std::array<std::uint8_t, 16> salt{};
    Digest digest{};
    bool operator==(const ApiKeyHash&) const = default;
};

// 8 lower-case hexadecimal digits; nothing unless `text` is that.
std::string to_string(ApiKeyId id);
std::optional<ApiKeyId> parse_api_key_id(std::string_view text);

std::string format_api_key(const ApiKey& key);
std::optional<ApiKey> parse_api_key(std::string_view text);

std::string format_api_key_hash(const ApiKeyHash& hash);
std::optional<ApiKeyHash> parse_api_key_hash(std::string_view text);

ApiKeyHash hash_api_key(const Crypto& crypto, const ApiKey& key, const std::array<std::uint8_t, 16>& salt);
// In a time that does not depend on how much of it fits.
bool matches(const Crypto& crypto, const ApiKeyHash& hash, const ApiKey& key);

}  // namespace exa::app::access
