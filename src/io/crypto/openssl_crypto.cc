#include "io/crypto/openssl_crypto.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/kdf.h>
#include <openssl/params.h>

#include <algorithm>
#include <array>
#include <limits>
#include <memory>

#include "base/check.h"

namespace exa::io::crypto {

namespace {

struct Deleter {
    void operator()(EVP_CIPHER* cipher) const { EVP_CIPHER_free(cipher); }
    void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
    void operator()(EVP_MD* digest) const { EVP_MD_free(digest); }
    void operator()(EVP_KDF* kdf) const { EVP_KDF_free(kdf); }
    void operator()(EVP_KDF_CTX* context) const { EVP_KDF_CTX_free(context); }
};

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

// Fetched once: a look-up by name for each packet costs more than the packet.
const EVP_CIPHER* aes_256_gcm() {
    static const std::unique_ptr<EVP_CIPHER, Deleter> cipher(EVP_CIPHER_fetch(nullptr, "AES-256-GCM", nullptr));
    EXA_CHECK(cipher != nullptr);
    return cipher.get();
}

const EVP_MD* sha_256() {
    static const std::unique_ptr<EVP_MD, Deleter> digest(EVP_MD_fetch(nullptr, "SHA256", nullptr));
    EXA_CHECK(digest != nullptr);
    return digest.get();
}

class OpenSslAead final : public Aead {
  public:
    explicit OpenSslAead(const AeadKey& key) : context_(EVP_CIPHER_CTX_new()) {
        EXA_CHECK(context_ != nullptr);
        EXA_CHECK(EVP_CipherInit_ex2(context_.get(), aes_256_gcm(), key.data(), nullptr, 1, nullptr) == 1);
    }

    void seal(const AeadNonce& nonce, ByteView associated, ByteView plain, std::span<std::uint8_t> out) override {
        EXA_CHECK(out.size() == plain.size() + aead_tag_size);
        start(nonce, associated, 1);
        int size = 0;
        if (!plain.empty())
            EXA_CHECK(EVP_CipherUpdate(context_.get(), out.data(), &size, plain.data(), length_of(plain)) == 1);
        std::uint8_t* const tag = out.data() + plain.size();
        EXA_CHECK(EVP_CipherFinal_ex(context_.get(), tag, &size) == 1);
        EXA_CHECK(EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_AEAD_GET_TAG, aead_tag_size, tag) == 1);
    }

    bool open(const AeadNonce& nonce, ByteView associated, ByteView sealed, std::span<std::uint8_t> out) override {
        if (sealed.size() < aead_tag_size || sealed.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
            return false;
        const ByteView cipher = sealed.first(sealed.size() - aead_tag_size);
        EXA_CHECK(out.size() == cipher.size());
        std::array<std::uint8_t, aead_tag_size> tag;
        std::copy(sealed.end() - aead_tag_size, sealed.end(), tag.begin());
        start(nonce, associated, 0);
        int size = 0;
        if (!cipher.empty())
            EXA_CHECK(EVP_CipherUpdate(context_.get(), out.data(), &size, cipher.data(), length_of(cipher)) == 1);
        EXA_CHECK(EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_AEAD_SET_TAG, aead_tag_size, tag.data()) == 1);
        std::uint8_t unused = 0;
        return EVP_CipherFinal_ex(context_.get(), &unused, &size) == 1;
    }

  private:
    // The key of the constructor stays; only the nonce is new.
    void start(const AeadNonce& nonce, ByteView associated, int encrypts) {
        EXA_CHECK(EVP_CipherInit_ex2(context_.get(), nullptr, nullptr, nonce.data(), encrypts, nullptr) == 1);
        int size = 0;
        if (!associated.empty())
            EXA_CHECK(EVP_CipherUpdate(context_.get(), nullptr, &size, associated.data(), length_of(associated)) == 1);
    }

    std::unique_ptr<EVP_CIPHER_CTX, Deleter> context_;
};

}  // namespace

Digest OpenSslCrypto::sha256(ByteView message) const {
    Digest digest;
    EXA_CHECK(EVP_Digest(message.data(), message.size(), digest.data(), nullptr, sha_256(), nullptr) == 1);
    return digest;
}

Digest OpenSslCrypto::hmac_sha256(ByteView key, ByteView message) const {
    Digest digest;
    unsigned size = 0;
    // A null key would mean "the last one"; an empty one is a key.
    static const std::uint8_t nothing = 0;
    const std::uint8_t* bytes = key.empty() ? &nothing : key.data();
    EXA_CHECK(HMAC(sha_256(), bytes, length_of(key), message.data(), message.size(), digest.data(), &size) != nullptr);
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
    Bytes sealed(plain.size() + aead_tag_size);
    OpenSslAead(key).seal(nonce, associated, plain, sealed);
    return sealed;
}

std::optional<Bytes> OpenSslCrypto::open(const AeadKey& key, const AeadNonce& nonce, ByteView associated,
                                         ByteView sealed) const {
    if (sealed.size() < aead_tag_size) return std::nullopt;
    Bytes plain(sealed.size() - aead_tag_size);
    if (!OpenSslAead(key).open(nonce, associated, sealed, plain)) return std::nullopt;
    return plain;
}

std::unique_ptr<Aead> OpenSslCrypto::aead(const AeadKey& key) const {
    return std::make_unique<OpenSslAead>(key);
}

}  // namespace exa::io::crypto
