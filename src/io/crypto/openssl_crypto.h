// OpenSslCrypto: base/crypto.h over OpenSSL's EVP interface. Pure: no state, no randomness; sim links it too.
#pragma once

#include "base/crypto.h"

namespace exa::io::crypto {

// Stateless and thread-safe. A failure inside OpenSSL (out of memory, a missing provider) is a bug of the
// installation and aborts.
class OpenSslCrypto final : public Crypto {
  public:
    Digest sha256(ByteView message) const override;
    Digest hmac_sha256(ByteView key, ByteView message) const override;
    Digest hkdf_sha256(ByteView secret, ByteView salt, ByteView info) const override;
    Bytes seal(const AeadKey& key, const AeadNonce& nonce, ByteView associated, ByteView plain) const override;
    std::optional<Bytes> open(const AeadKey& key, const AeadNonce& nonce, ByteView associated,
                              ByteView sealed) const override;
    std::unique_ptr<Aead> aead(const AeadKey& key) const override;
};

}  // namespace exa::io::crypto
