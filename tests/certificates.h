// Certificates that tests make for themselves.
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>

namespace exa::test {

struct PemPair {
    std::string certificate;
    std::string key;
};

// A P-256 key and a certificate that it signed itself, for `name` and 127.0.0.1, valid for a day.
inline PemPair self_signed(const std::string& name) {
    const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(EVP_EC_gen("P-256"), EVP_PKEY_free);
    const std::unique_ptr<X509, decltype(&X509_free)> made(X509_new(), X509_free);
    X509* const certificate = made.get();
    X509_set_version(certificate, 2);
    static long serial = 0;
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), ++serial);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -60);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 24L * 3600);
    X509_set_pubkey(certificate, key.get());
    X509_NAME* const subject = X509_get_subject_name(certificate);
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>(name.c_str()), -1,
                               -1, 0);
    X509_set_issuer_name(certificate, subject);
    const std::string names = "DNS:" + name + ",IP:127.0.0.1";
    X509_EXTENSION* const extension =
        X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, const_cast<char*>(names.c_str()));
    X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
    X509_sign(certificate, key.get(), EVP_sha256());

    const auto text_of = [](auto write) {
        const std::unique_ptr<BIO, decltype(&BIO_free)> bio(BIO_new(BIO_s_mem()), BIO_free);
        write(bio.get());
        char* text = nullptr;
        const long size = BIO_get_mem_data(bio.get(), &text);
        return std::string(text, static_cast<std::size_t>(size));
    };
    return {text_of([&](BIO* bio) { PEM_write_bio_X509(bio, certificate); }), text_of([&](BIO* bio) {
                PEM_write_bio_PrivateKey(bio, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
            })};
}

}  // namespace exa::test
