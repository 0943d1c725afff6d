#include "app/access/api_key.h"

#include <fmt/format.h>

#include <algorithm>

namespace exa::app::access {

namespace {

constexpr std::string_view key_prefix = "sk-exa-";
constexpr std::string_view hash_prefix = "sha256:";
constexpr std::size_t id_digits = 8;

// The two numbers of "<prefix><first><separator><second>", of fixed sizes.
bool read_pair(std::string_view text, std::string_view prefix, char separator, std::span<std::uint8_t> first,
               std::span<std::uint8_t> second) {
    if (!text.starts_with(prefix)) return false;
    text.remove_prefix(prefix.size());
    const std::size_t digits = 2 * first.size();
    return text.size() > digits && text[digits] == separator && from_hex(text.substr(0, digits), first) &&
           from_hex(text.substr(digits + 1), second);
}

std::uint32_t number_of(const std::array<std::uint8_t, 4>& bytes) {
    return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 | std::uint32_t{bytes[2]} << 8 | bytes[3];
}

}  // namespace

std::string to_string(ApiKeyId id) {
    return fmt::format("{:08x}", id.value);
}

std::optional<ApiKeyId> parse_api_key_id(std::string_view text) {
    std::array<std::uint8_t, id_digits / 2> bytes{};
    if (!from_hex(text, bytes)) return std::nullopt;
    const ApiKeyId id{number_of(bytes)};
    if (to_string(id) != text) return std::nullopt;
    return id;
}

std::string format_api_key(const ApiKey& key) {
    return fmt::format("{}{}-{}", key_prefix, to_string(key.id), to_hex(key.secret));
}

std::optional<ApiKey> parse_api_key(std::string_view text) {
    std::array<std::uint8_t, id_digits / 2> id{};
    ApiKey key;
    if (!read_pair(text, key_prefix, '-', id, key.secret)) return std::nullopt;
    key.id = {number_of(id)};
    return key;
}

std::string format_api_key_hash(const ApiKeyHash& hash) {
    return fmt::format("{}{}:{}", hash_prefix, to_hex(hash.salt), to_hex(hash.digest));
}

std::optional<ApiKeyHash> parse_api_key_hash(std::string_view text) {
    ApiKeyHash hash;
    if (!read_pair(text, hash_prefix, ':', hash.salt, hash.digest)) return std::nullopt;
    return hash;
}

ApiKeyHash hash_api_key(const Crypto& crypto, const ApiKey& key, const std::array<std::uint8_t, 16>& salt) {
    std::array<std::uint8_t, 48> salted{};
    std::ranges::copy(key.secret, std::ranges::copy(salt, salted.begin()).out);
    return {salt, crypto.sha256(salted)};
}

bool matches(const Crypto& crypto, const ApiKeyHash& hash, const ApiKey& key) {
    return equal_constant_time(hash_api_key(crypto, key, hash.salt).digest, hash.digest);
}

}  // namespace exa::app::access
