#include "io/tls/settings.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <algorithm>
#include <ctime>
#include <limits>
#include <utility>
#include <vector>

#include "base/check.h"
#include "io/errc.h"
#include "io/tls/settings_parts.h"

namespace exa::io::tls {

namespace {

constexpr std::string_view alpn_http = "http/1.1";

struct FreeParts {
    void operator()(BIO* bio) const { BIO_free(bio); }
    void operator()(X509* certificate) const { X509_free(certificate); }
    void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
using BioPtr = std::unique_ptr<BIO, FreeParts>;
using CertificatePtr = std::unique_ptr<X509, FreeParts>;
using KeyPtr = std::unique_ptr<EVP_PKEY, FreeParts>;

// OpenSSL would otherwise ask the terminal.
int no_passphrase(char*, int, int, void*) {
    return -1;
}

BioPtr reader_of(std::string_view text) {
    EXA_CHECK(text.size() <= static_cast<std::size_t>(std::numeric_limits<int>::max()));
    BioPtr bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
    EXA_CHECK(bio != nullptr);
    return bio;
}

Result<std::vector<CertificatePtr>> parse_certificates(std::string_view pem) {
    const BioPtr bio = reader_of(pem);
    std::vector<CertificatePtr> certificates;
    ERR_clear_error();
    while (X509* const next = PEM_read_bio_X509(bio.get(), nullptr, no_passphrase, nullptr))
        certificates.emplace_back(next);
    const bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
    const std::string reason = take_tls_reason();
    if (!at_end) return error(errc::bad_certificate, "a certificate cannot be read: " + reason);
    if (certificates.empty()) return error(errc::bad_certificate, "there is no PEM certificate in it");
    return certificates;
}

std::int64_t unix_seconds(const ASN1_TIME* time) {
    std::tm parts{};
    return ASN1_TIME_to_tm(time, &parts) == 1 ? static_cast<std::int64_t>(timegm(&parts)) : 0;
}

CertificateFacts facts_of(X509* certificate) {
    CertificateFacts facts;
    const BioPtr bio(BIO_new(BIO_s_mem()));
    EXA_CHECK(bio != nullptr);
    X509_NAME_print_ex(bio.get(), X509_get_subject_name(certificate), 0, XN_FLAG_RFC2253);
    char* text = nullptr;
    const long size = BIO_get_mem_data(bio.get(), &text);
    facts.subject.assign(text, static_cast<std::size_t>(std::clamp(size, 0L, 256L)));
    std::ranges::replace_if(facts.subject, [](char c) { return c < ' ' || c > '~'; }, '?');
    facts.not_before_unix_s = unix_seconds(X509_get0_notBefore(certificate));
    facts.not_after_unix_s = unix_seconds(X509_get0_notAfter(certificate));
    return facts;
}

int select_protocol(SSL*, const unsigned char** chosen, unsigned char* chosen_size, const unsigned char* offered,
                    unsigned int offered_size, void*) {
    for (unsigned int at = 0; at < offered_size; at += 1U + offered[at]) {
        const unsigned int size = offered[at];
        if (size > offered_size - at - 1) break;
        if (std::string_view(reinterpret_cast<const char*>(offered) + at + 1, size) != alpn_http) continue;
        *chosen = offered + at + 1;
        *chosen_size = static_cast<unsigned char>(size);
        return SSL_TLSEXT_ERR_OK;
    }
    return SSL_TLSEXT_ERR_ALERT_FATAL;
}

std::unique_ptr<SSL_CTX, FreeSsl> make_context(const SSL_METHOD* method) {
    std::unique_ptr<SSL_CTX, FreeSsl> made(SSL_CTX_new(method));
    SSL_CTX* const context = made.get();
    EXA_CHECK(context != nullptr);
    EXA_CHECK(SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1);
    EXA_CHECK(SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20") == 1);
    EXA_CHECK(SSL_CTX_set1_groups_list(context, "X25519:P-256:P-384") == 1);
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE |
                                     SSL_OP_PRIORITIZE_CHACHA);
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
    return made;
}

}  // namespace

TlsSettings::TlsSettings(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

TlsSettings::~TlsSettings() = default;

const CertificateFacts& TlsSettings::facts() const {
    return parts_->facts;
}

Result<std::shared_ptr<const TlsSettings>> TlsSettings::serve(std::string_view chain_pem, std::string_view key_pem) {
    EXA_TRY(const std::vector<CertificatePtr> chain, parse_certificates(chain_pem));
    ERR_clear_error();
    const BioPtr bio = reader_of(key_pem);
    const KeyPtr key(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_passphrase, nullptr));
    // The reason would be OpenSSL's guess at a format, which helps nobody.
    ERR_clear_error();
    if (!key) return error(errc::bad_certificate, "there is no unencrypted PEM key in the key file");
    auto parts = std::make_unique<Parts>();
    parts->is_server = true;
    parts->context = make_context(TLS_server_method());
    SSL_CTX* const context = parts->context.get();
    if (SSL_CTX_use_certificate(context, chain.front().get()) != 1)
        return error(errc::bad_certificate, "the certificate cannot be used: " + take_tls_reason());
    for (std::size_t i = 1; i < chain.size(); ++i)
        if (SSL_CTX_add1_chain_cert(context, chain[i].get()) != 1)
            return error(errc::bad_certificate, "the chain cannot be used: " + take_tls_reason());
    if (SSL_CTX_use_PrivateKey(context, key.get()) != 1 || SSL_CTX_check_private_key(context) != 1) {
        ERR_clear_error();
        return error(errc::bad_certificate, "the key is not that of the first certificate");
    }
    SSL_CTX_set_alpn_select_cb(context, select_protocol, nullptr);
    // Tickets carry sessions; what is kept here would be a table that anybody could fill.
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    EXA_CHECK(SSL_CTX_set_num_tickets(context, 1) == 1);
    parts->facts = facts_of(chain.front().get());
    return std::shared_ptr<const TlsSettings>(new TlsSettings(std::move(parts)));
}

Result<std::shared_ptr<const TlsSettings>> TlsSettings::trust(std::string_view pem, bool checks_name) {
    auto parts = std::make_unique<Parts>();
    parts->checks_name = checks_name;
    parts->context = make_context(TLS_client_method());
    SSL_CTX* const context = parts->context.get();
    if (pem.empty()) {
        SSL_CTX_set_default_verify_paths(context);
    } else {
        EXA_TRY(const std::vector<CertificatePtr> trusted, parse_certificates(pem));
        for (const CertificatePtr& certificate : trusted)
            EXA_CHECK(X509_STORE_add_cert(SSL_CTX_get_cert_store(context), certificate.get()) == 1);
    }
    // A certificate that is named itself needs nobody who signed it.
    X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(context), X509_V_FLAG_PARTIAL_CHAIN);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
    return std::shared_ptr<const TlsSettings>(new TlsSettings(std::move(parts)));
}

}  // namespace exa::io::tls
