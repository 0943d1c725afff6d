#include "router/session.h"

#include <array>

namespace exa::router {

namespace {

constexpr std::size_t token_bytes = 20;

template <class T>
void put_be(Bytes& out, T value) {
    for (std::size_t i = sizeof(T); i-- > 0;) out.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
}

template <class T>
void add_be(SipHash& hash, T value) {
    std::array<std::uint8_t, sizeof(T)> bytes;
    for (std::size_t i = 0; i < sizeof(T); ++i)
        bytes[i] = static_cast<std::uint8_t>(value >> (8 * (sizeof(T) - 1 - i)));
    hash.add(bytes);
}

void add_text(SipHash& hash, std::string_view text) {
    add_be(hash, static_cast<std::uint32_t>(text.size()));
    hash.add(as_bytes(text));
}

template <class T>
T get_be(ByteView bytes) {
    T value = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i) value = static_cast<T>(value << 8 | bytes[i]);
    return value;
}

}  // namespace

SessionTokens::SessionTokens(const Crypto& crypto, ByteView root_secret, Duration life, Duration future)
    : token_key_(make_sip_key(crypto.hkdf_sha256(root_secret, {}, as_bytes("exaserve session token 2")))),
      client_key_(make_sip_key(crypto.hkdf_sha256(root_secret, {}, as_bytes("exaserve client id 2")))),
      life_seconds_(std::chrono::duration_cast<std::chrono::seconds>(life).count()),
      future_seconds_(std::chrono::duration_cast<std::chrono::seconds>(future).count()) {}

std::string SessionTokens::mint(std::uint64_t position, WallTime now, std::string_view tenant,
                                const ring::PoolKey& pool) const {
    const auto minted = static_cast<std::uint32_t>(now.unix_seconds());
    Bytes token;
    token.reserve(token_bytes);
    put_be(token, position);
    put_be(token, minted);
    put_be(token, mac(position, minted, tenant, pool));
    return std::string(token_prefix) + to_hex(token);
}

std::optional<std::uint64_t> SessionTokens::verify(std::string_view text, WallTime now, std::string_view tenant,
                                                   const ring::PoolKey& pool) const {
    if (text.size() != token_chars || !text.starts_with(token_prefix)) return std::nullopt;
    std::array<std::uint8_t, token_bytes> token;
    if (!from_hex(text.substr(token_prefix.size()), token)) return std::nullopt;
    const ByteView bytes(token);
    const auto position = get_be<std::uint64_t>(bytes.first(8));
    const auto minted = get_be<std::uint32_t>(bytes.subspan(8, 4));
    const std::int64_t age = now.unix_seconds() - std::int64_t{minted};
    if (age > life_seconds_ || age < -future_seconds_) return std::nullopt;
    // One comparison of words, whatever they are.
    if (mac(position, minted, tenant, pool) != get_be<std::uint64_t>(bytes.subspan(12))) return std::nullopt;
    return position;
}

std::uint64_t SessionTokens::position_of_client_id(std::string_view tenant, std::string_view id) const {
    SipHash hash(client_key_);
    add_text(hash, tenant);
    add_text(hash, id);
    return hash.value();
}

std::uint64_t SessionTokens::mac(std::uint64_t position, std::uint32_t minted, std::string_view tenant,
                                 const ring::PoolKey& pool) const {
    SipHash hash(token_key_);
    add_be(hash, position);
    add_be(hash, minted);
    add_text(hash, tenant);
    for (const std::string* field : {&pool.model, &pool.role, &pool.tenant_pool, &pool.version}) add_text(hash, *field);
    return hash.value();
}

}  // namespace exa::router
