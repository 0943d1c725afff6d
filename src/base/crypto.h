// Crypto: the cryptography a core may use, as a pure interface. io/crypto implements it over OpenSSL.
//
// Every call is a function of its arguments; nonces and keys are made at the edge. Sizes are fixed by the primitive:
// SHA-256 (FIPS 180-4), HMAC-SHA-256 (RFC 2104), HKDF-SHA-256 (RFC 5869), AES-256-GCM (NIST SP 800-38D).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/bytes.h"

namespace exa {

using Digest = std::array<std::uint8_t, 32>;
using AeadKey = std::array<std::uint8_t, 32>;
using AeadNonce = std::array<std::uint8_t, 12>;

inline constexpr std::size_t aead_tag_size = 16;

// AES-256-GCM under one key that was set up once: what packets are sealed with. One thread at a time.
class Aead {
  public:
    virtual ~Aead() = default;

    // `out` takes the ciphertext and then the tag: plain.size() + aead_tag_size bytes, apart from `plain`.
    virtual void seal(const AeadNonce& nonce, ByteView associated, ByteView plain, std::span<std::uint8_t> out) = 0;
    // `out` has sealed.size() - aead_tag_size bytes. False when the tag does not fit: what `out` holds then means
    // nothing.
    virtual bool open(const AeadNonce& nonce, ByteView associated, ByteView sealed, std::span<std::uint8_t> out) = 0;
};

class Crypto {
  public:
    virtual ~Crypto() = default;

    virtual Digest sha256(ByteView message) const = 0;
    virtual Digest hmac_sha256(ByteView key, ByteView message) const = 0;
    // One 32-byte block of output, which is all our keys need.
    virtual Digest hkdf_sha256(ByteView secret, ByteView salt, ByteView info) const = 0;

    // Ciphertext followed by the 16-byte tag.
    virtual Bytes seal(const AeadKey& key, const AeadNonce& nonce, ByteView associated, ByteView plain) const = 0;
    // Nothing when the tag does not fit: the bytes are then to be ignored, not explained.
    virtual std::optional<Bytes> open(const AeadKey& key, const AeadNonce& nonce, ByteView associated,
                                      ByteView sealed) const = 0;
    virtual std::unique_ptr<Aead> aead(const AeadKey& key) const = 0;
};

// Equality whose time does not depend on the contents.
bool equal_constant_time(ByteView a, ByteView b);

}  // namespace exa
