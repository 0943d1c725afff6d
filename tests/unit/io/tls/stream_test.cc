#include "io/tls/stream.h"

#include <openssl/ssl.h>

#include <array>
#include <boost/test/unit_test.hpp>

#include "certificates.h"
#include "io/errc.h"
#include "support/print.h"

using namespace exa::io;
using namespace exa::io::tls;
using exa::as_bytes;
using exa::Bytes;
using exa::ByteView;
using exa::Result;
using exa::test::self_signed;

namespace {

// Two ends, and what passed between them.
struct Pair {
    explicit Pair(const std::string& server_name, bool checks_name = true,
                  const std::shared_ptr<const TlsSettings>& trusted = nullptr)
        : client(trusted ? trusted : TlsSettings::trust(pem.certificate, checks_name).value(), server_name),
          server(TlsSettings::serve(pem.certificate, pem.key).value()) {}

    // Carries bytes, `step` at a time, until nobody has more to say.
    void exchange(std::size_t step = 1'000'000) {
        while (client.has_output() || server.has_output()) {
            carry(client, server, to_server, to_server_result, step);
            carry(server, client, to_client, to_client_result, step);
        }
    }
    static void carry(TlsStream& from, TlsStream& to, std::string& plain, Result<void>& result, std::size_t step) {
        const Bytes wire = from.take_output();
        for (std::size_t at = 0; at < wire.size() && result; at += step)
            result = to.take(ByteView(wire).subspan(at, std::min(step, wire.size() - at)), plain);
    }
    static void say(TlsStream& from, std::string_view text) {
        const std::array pieces{as_bytes(text.substr(0, text.size() / 2)), as_bytes(text.substr(text.size() / 2))};
        BOOST_TEST(from.write(pieces).has_value());
    }

    exa::test::PemPair pem = self_signed("node7.example");
    TlsStream client;
    TlsStream server;
    std::string to_server;
    std::string to_client;
    Result<void> to_server_result = exa::success();
    Result<void> to_client_result = exa::success();
};

}  // namespace

BOOST_AUTO_TEST_SUITE(tls_stream)

BOOST_AUTO_TEST_CASE(what_is_written_arrives_however_it_is_cut) {
    for (const std::size_t step : {1UL, 7UL, 1'000UL, 1'000'000UL}) {
        Pair pair("node7.example");
        pair.exchange(step);
        BOOST_TEST_REQUIRE(pair.client.established());
        BOOST_TEST_REQUIRE(pair.server.established());
        BOOST_TEST(pair.server.protocol() == "TLSv1.3");
        const std::string request = "GET / HTTP/1.1\r\n\r\n";
        const std::string answer(100'000, 'x');
        Pair::say(pair.client, request);
        Pair::say(pair.server, answer);
        pair.exchange(step);
        BOOST_TEST(pair.to_server == request);
        BOOST_TEST(pair.to_client == answer);
        BOOST_TEST(!pair.server.ended());
        pair.client.finish();
        pair.exchange(step);
        BOOST_TEST(pair.server.ended());
        BOOST_TEST(pair.to_server_result.has_value());
    }
}

BOOST_AUTO_TEST_CASE(addresses_are_checked_like_names) {
    Pair named("127.0.0.1");
    named.exchange();
    BOOST_TEST(named.client.established());
    for (const char* other : {"127.0.0.2", "node8.example", "::1"}) {
        Pair pair(other);
        pair.exchange();
        BOOST_TEST(!pair.client.established(), other);
        BOOST_TEST_REQUIRE(!pair.to_client_result.has_value());
        BOOST_TEST(pair.to_client_result.error().code == make_error_code(errc::untrusted));
        // The server is told why.
        BOOST_TEST_REQUIRE(pair.to_server_result.has_error());
        BOOST_TEST(pair.to_server_result.error().code == make_error_code(errc::broken));
    }
    Pair unchecked("node8.example", false);
    unchecked.exchange();
    BOOST_TEST(unchecked.client.established());
}

BOOST_AUTO_TEST_CASE(certificate_of_nobody_we_trust_is_refused) {
    Pair pair("node7.example", true, TlsSettings::trust(self_signed("node7.example").certificate).value());
    pair.exchange();
    BOOST_TEST_REQUIRE(!pair.to_client_result.has_value());
    BOOST_TEST(pair.to_client_result.error().code == make_error_code(errc::untrusted));
}

BOOST_AUTO_TEST_CASE(bytes_that_are_not_tls_end_the_stream) {
    const auto pem = self_signed("a");
    const auto settings = TlsSettings::serve(pem.certificate, pem.key).value();
    for (const std::string& noise : {std::string("GET / HTTP/1.1\r\nHost: h\r\n\r\n"), std::string(100, '\0'),
                                     std::string("\x16\x03\x01\x00\x05hello", 10), std::string(70'000, '\x16')}) {
        TlsStream server(settings);
        std::string plain;
        BOOST_TEST(!server.take(as_bytes(noise), plain).has_value(), noise.substr(0, 20));
        BOOST_TEST(plain.empty());
        BOOST_TEST(!server.established());
    }
    // A record that is damaged on its way.
    Pair pair("node7.example");
    pair.exchange();
    Pair::say(pair.client, "hello");
    Bytes wire = pair.client.take_output();
    wire.back() ^= 1U;
    std::string plain;
    BOOST_TEST(!pair.server.take(wire, plain).has_value());
    BOOST_TEST(plain.empty());
}

// What old clients may and may not speak.
BOOST_AUTO_TEST_CASE(tls_1_2_is_spoken_and_older_or_weaker_is_not) {
    const auto pem = self_signed("a");
    const auto settings = TlsSettings::serve(pem.certificate, pem.key).value();
    const auto talks = [&](int version, const char* ciphers) {
        const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
        SSL_CTX_set_security_level(context.get(), 0);
        SSL_CTX_set_min_proto_version(context.get(), version);
        SSL_CTX_set_max_proto_version(context.get(), version);
        BOOST_TEST_REQUIRE(SSL_CTX_set_cipher_list(context.get(), ciphers) == 1);
        const std::unique_ptr<SSL, decltype(&SSL_free)> client(SSL_new(context.get()), SSL_free);
        BIO* const in = BIO_new(BIO_s_mem());
        BIO* const out = BIO_new(BIO_s_mem());
        SSL_set_bio(client.get(), in, out);
        SSL_set_connect_state(client.get());
        TlsStream server(settings);
        std::string plain;
        for (int turn = 0; turn < 6; ++turn) {
            SSL_do_handshake(client.get());
            char* bytes = nullptr;
            const long size = BIO_get_mem_data(out, &bytes);
            const Bytes wire(bytes, bytes + size);
            static_cast<void>(BIO_reset(out));
            if (!server.take(wire, plain)) return false;
            const Bytes answer = server.take_output();
            BIO_write(in, answer.data(), static_cast<int>(answer.size()));
        }
        return server.established();
    };
    BOOST_TEST(talks(TLS1_2_VERSION, "ECDHE-ECDSA-AES128-GCM-SHA256"));
    BOOST_TEST(talks(TLS1_3_VERSION, "ALL"));
    BOOST_TEST(!talks(TLS1_2_VERSION, "ECDHE-ECDSA-AES128-SHA"));
    BOOST_TEST(!talks(TLS1_1_VERSION, "ALL:@SECLEVEL=0"));
}

BOOST_AUTO_TEST_SUITE_END()
