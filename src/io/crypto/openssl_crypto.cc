#include "io/crypto/openssl_crypto.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/kdf.h>
#include <openssl/params.h>

#include <array>
#include <limits>
#include <memory>

#include "base/check.h"

namespace exa::io {

namespace {

constexpr std::size_t tag_size = 16;

struct Deleter {
    void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
    void operator()(EVP_KDF* kdf) const { EVP_KDF_free(kdf); }
    void operator()(EVP_KDF_CTX* context) const { EVP_KDF_CTX_free(context); }
};
using CipherContext = std::unique_ptr<EVP_CIPHER_CTX, Deleter>;

// EVP takes lengths as int; nothing we seal is near 2 GiB.
int length_of(ByteView bytes) {
    EXA_CHECK(bytes.size() <= static_cast<std::size_t>(std::numeric_limits<int>::max()));
    return static_cast<int>(bytes.size());
}

// OSSL_PARAM wants a mutable pointer and only reads through it.
OSSL_PARAM octets(const char* key, ByteView bytes) {
    static std::uint8_t nothing = 0;
    auto* data = bytes.empty() ? &nothing : const_cast<std::uint8_t*>(bytes.data());
    return OSSL_PARAM_construct_octet_string(key, data, bytes.size());
}

}  // namespace

Digest OpenSslCrypto::sha256(ByteView message) const {
    Digest digest;
    EXA_CHECK(EVP_Digest(message.data(), message.size(), digest.data(), nullptr, EVP_sha256(), nullptr) == 1);
    return digest;
}

Digest OpenSslCrypto::hmac_sha256(ByteView key, ByteView message) const {
    Digest digest;
    unsigned size = 0;
    // A null key would mean "the last one"; an empty one is a key.
    static const std::uint8_t nothing = 0;
    const std::uint8_t* bytes = key.empty() ? &nothing : key.data();
    EXA_CHECK(HMAC(EVP_sha256(), bytes, length_of(key), message.data(), message.size(), digest.data(), &size) !=
              nullptr);
    EXA_CHECK(size == digest.size());
    return digest;
}

Digest OpenSslCrypto::hkdf_sha256(ByteView secret, ByteView salt, ByteView info) const {
    static const std::unique_ptr<EVP_KDF, Deleter> kdf(EVP_KDF_fetch(nullptr, "HKDF", nullptr));
    EXA_CHECK(kdf != nullptr);
    const std::unique_ptr<EVP_KDF_CTX, Deleter> context(EVP_KDF_CTX_new(kdf.get()));
    EXA_CHECK(context != nullptr);
    char digest_name[] = "SHA256";
    const std::array<OSSL_PARAM, 5> parameters = {
        OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest_name, 0),
        octets(OSSL_KDF_PARAM_KEY, secret),
        octets(OSSL_KDF_PARAM_SALT, salt),
        octets(OSSL_KDF_PARAM_INFO, info),
        OSSL_PARAM_construct_end(),
    };
    Digest out;
    EXA_CHECK(EVP_KDF_derive(context.get(), out.data(), out.size(), parameters.data()) == 1);
    return out;
}

Bytes OpenSslCrypto::seal(const AeadKey& key, const AeadNonce& nonce, ByteView associated, ByteView plain) const {
    const CipherContext context(EVP_CIPHER_CTX_new());
    EXA_CHECK(context != nullptr);
    Bytes sealed(plain.size() + tag_size);
    int size = 0;
    EXA_CHECK(EVP_EncryptInit_ex(context.get(), EVP_aes_256_gcm(), nullptr, key.data(), nonce.data()) == 1);
    if (!associated.empty())
        EXA_CHECK(EVP_EncryptUpdate(context.get(), nullptr, &size, associated.data(), length_of(associated)) == 1);
    if (!plain.empty())
        EXA_CHECK(EVP_EncryptUpdate(context.get(), sealed.data(), &size, plain.data(), length_of(plain)) == 1);
    EXA_CHECK(EVP_EncryptFinal_ex(context.get(), sealed.data() + plain.size(), &size) == 1);
    EXA_CHECK(EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_GET_TAG, tag_size, sealed.data() + plain.size()) == 1);
    return sealed;
}

std::optional<Bytes> OpenSslCrypto::open(const AeadKey& key, const AeadNonce& nonce, ByteView associated,
                                         ByteView sealed) const {
    if (sealed.size() < tag_size || sealed.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
        return std::nullopt;
    const ByteView cipher = sealed.first(sealed.size() - tag_size);
    std::array<std::uint8_t, tag_size> tag;
    std::copy(sealed.end() - tag_size, sealed.end(), tag.begin());
    const CipherContext context(EVP_CIPHER_CTX_new());
    EXA_CHECK(context != nullptr);
    Bytes plain(cipher.size());
    int size = 0;
    EXA_CHECK(EVP_DecryptInit_ex(context.get(), EVP_aes_256_gcm(), nullptr, key.data(), nonce.data()) == 1);
    if (!associated.empty())
        EXA_CHECK(EVP_DecryptUpdate(context.get(), nullptr, &size, associated.data(), length_of(associated)) == 1);
    if (!cipher.empty())
        EXA_CHECK(EVP_DecryptUpdate(context.get(), plain.data(), &size, cipher.data(), length_of(cipher)) == 1);
    EXA_CHECK(EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_SET_TAG, tag_size, tag.data()) == 1);
    std::uint8_t unused = 0;
    if (EVP_DecryptFinal_ex(context.get(), &unused, &size) != 1) return std::nullopt;
    return plain;
}

}  // namespace exa::io
