#include "io/link/psk.h"

#include <span>

namespace exa::io::link {

namespace {

constexpr std::uint8_t identity_version = 1;
constexpr std::string_view psk_label = "exaserve link psk 1";

template <class T>
void put(std::span<std::uint8_t> at, T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i) at[i] = static_cast<std::uint8_t>(value >> (8 * i));
}

template <class T>
T get(ByteView at) {
    T value = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i) value |= static_cast<T>(at[i]) << (8 * i);
    return value;
}

}  // namespace

std::array<std::uint8_t, psk_identity_size> encode_psk_identity(const PskIdentity& identity) {
    std::array<std::uint8_t, psk_identity_size> bytes{identity_version};
    const std::span<std::uint8_t> out(bytes);
    put(out.subspan(1), identity.key.value);
    put(out.subspan(5), identity.initiator.value);
    put(out.subspan(13), identity.acceptor.value);
    return bytes;
}

std::optional<PskIdentity> decode_psk_identity(ByteView bytes) {
    if (bytes.size() != psk_identity_size || bytes[0] != identity_version) return std::nullopt;
    const PskIdentity identity{KeyId{get<std::uint32_t>(bytes.subspan(1))},
                               PeerId{get<std::uint64_t>(bytes.subspan(5))},
                               PeerId{get<std::uint64_t>(bytes.subspan(13))}};
    if (identity.key == KeyId{} || identity.initiator == PeerId{} || identity.acceptor == PeerId{}) return std::nullopt;
    return identity;
}

Digest derive_psk(const Crypto& crypto, const KeySecret& secret, ClusterId cluster, const PskIdentity& identity) {
    std::array<std::uint8_t, 24> info{};
    const std::span<std::uint8_t> out(info);
    put(out, cluster.value);
    put(out.subspan(8), identity.initiator.value);
    put(out.subspan(16), identity.acceptor.value);
    return crypto.hkdf_sha256(secret, as_bytes(psk_label), info);
}

}  // namespace exa::io::link
