#include "io/tls/settings.h"

#include <boost/test/unit_test.hpp>

#include "certificates.h"
#include "io/errc.h"
#include "support/print.h"

using namespace exa::io;
using namespace exa::io::tls;
using exa::test::self_signed;

namespace {

// Why a pair is not taken; empty when it is.
std::string refusal(const std::string& chain, const std::string& key) {
    const auto settings = TlsSettings::serve(chain, key);
    if (settings) return {};
    BOOST_TEST(settings.error().code == make_error_code(errc::bad_certificate));
    return settings.error().detail;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(tls_settings)

BOOST_AUTO_TEST_CASE(pair_says_whose_it_is_and_how_long) {
    const auto pair = self_signed("node7.example");
    const auto settings = TlsSettings::serve(pair.certificate, pair.key);
    BOOST_TEST_REQUIRE(settings.has_value());
    const CertificateFacts& facts = settings.value()->facts();
    BOOST_TEST(facts.subject == "CN=node7.example");
    BOOST_TEST(facts.not_after_unix_s - facts.not_before_unix_s == 24 * 3600 + 60);
}

BOOST_AUTO_TEST_CASE(what_is_no_pair_is_refused_with_the_reason_and_without_the_key) {
    const auto pair = self_signed("a");
    const auto other = self_signed("b");
    BOOST_TEST(refusal(pair.certificate, pair.key).empty());
    BOOST_TEST(refusal(pair.certificate + other.certificate, pair.key).empty());
    BOOST_TEST(refusal(pair.certificate, other.key) == "the key is not that of the first certificate");
    BOOST_TEST(refusal(other.certificate + pair.certificate, pair.key) ==
               "the key is not that of the first certificate");
    BOOST_TEST(refusal("", pair.key) == "there is no PEM certificate in it");
    BOOST_TEST(refusal(pair.key, pair.key) == "there is no PEM certificate in it");
    BOOST_TEST(refusal(pair.certificate, "") == "there is no unencrypted PEM key in the key file");
    BOOST_TEST(refusal(pair.certificate, pair.key.substr(0, pair.key.size() / 2)).find("no unencrypted PEM key") !=
               std::string::npos);
    BOOST_TEST(refusal(pair.certificate.substr(0, pair.certificate.size() / 2), pair.key) != "");
    BOOST_TEST(refusal(pair.certificate + "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", pair.key)
                   .starts_with("a certificate cannot be read"));
}

// It must fail, not ask the terminal.
BOOST_AUTO_TEST_CASE(encrypted_key_is_refused) {
    const auto pair = self_signed("a");
    const std::unique_ptr<BIO, decltype(&BIO_free)> in(
        BIO_new_mem_buf(pair.key.data(), static_cast<int>(pair.key.size())), BIO_free);
    const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
        PEM_read_bio_PrivateKey(in.get(), nullptr, nullptr, nullptr), EVP_PKEY_free);
    const std::unique_ptr<BIO, decltype(&BIO_free)> out(BIO_new(BIO_s_mem()), BIO_free);
    const std::string phrase = "phrase";
    PEM_write_bio_PrivateKey(out.get(), key.get(), EVP_aes_256_cbc(),
                             reinterpret_cast<const unsigned char*>(phrase.data()), static_cast<int>(phrase.size()),
                             nullptr, nullptr);
    char* text = nullptr;
    const long size = BIO_get_mem_data(out.get(), &text);
    BOOST_TEST(refusal(pair.certificate, std::string(text, static_cast<std::size_t>(size))) ==
               "there is no unencrypted PEM key in the key file");
}

BOOST_AUTO_TEST_CASE(trust_needs_certificates_that_can_be_read) {
    BOOST_TEST(TlsSettings::trust(self_signed("a").certificate).has_value());
    BOOST_TEST(TlsSettings::trust("").has_value());
    BOOST_TEST(!TlsSettings::trust("nothing").has_value());
}

BOOST_AUTO_TEST_SUITE_END()
