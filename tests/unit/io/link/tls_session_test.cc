#include "io/link/tls_session.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <array>
#include <boost/test/unit_test.hpp>
#include <functional>
#include <memory>
#include <string>

#include "io/errc.h"
#include "support/print.h"
#include "wire/link_messages.h"

using namespace exa::io;
using namespace exa::io::link;
using exa::Bytes;
using exa::ByteView;
using exa::Digest;
using exa::Error;
using exa::KeyId;
using exa::PeerId;
using exa::Result;

namespace {

constexpr std::uint64_t no_rekey = 1U << 20;
constexpr PskIdentity pair_ab{KeyId{5}, PeerId{0xa}, PeerId{0xb}};
const Digest secret{1, 2, 3};

const auto& context() {
    static const auto shared = std::make_shared<const TlsContext>();
    return shared;
}

Result<Digest> knows_one(const PskIdentity& claimed) {
    if (claimed.acceptor != pair_ab.acceptor) return exa::error(errc::wrong_peer);
    if (claimed.key != pair_ab.key) return exa::error(errc::wrong_key);
    return secret;
}

std::unique_ptr<TlsSession> dialler(PskIdentity identity = pair_ab, Digest psk = secret) {
    return TlsSession::dial(context(), identity, psk);
}

std::unique_ptr<TlsSession> acceptor() {
    return TlsSession::accept(context(), knows_one);
}

void give(TlsSession& to, ByteView bytes) {
    const auto room = to.prepare();
    BOOST_TEST_REQUIRE(bytes.size() <= room.size());
    std::ranges::copy(bytes, room.begin());
    to.commit(bytes.size());
}

struct Outcome {
    Result<bool> dialled = false;
    Result<bool> accepted = false;
};

// Until neither has anything to say.
Outcome shake(TlsSession& a, TlsSession& b) {
    Outcome outcome;
    for (int turn = 0; turn < 6; ++turn) {
        if (outcome.dialled && !outcome.dialled.value()) outcome.dialled = a.handshake();
        if (const Bytes out = a.take_output(); !out.empty() && outcome.accepted && !outcome.accepted.value()) {
            give(b, out);
            outcome.accepted = b.handshake();
        }
        if (const Bytes out = b.take_output(); !out.empty() && outcome.dialled && !outcome.dialled.value())
            give(a, out);
    }
    return outcome;
}

template <class T>
bool is(const Result<T>& result, errc code) {
    return !result.has_value() && result.error().code == make_error_code(code);
}

Bytes pattern(std::size_t size) {
    Bytes bytes(size);
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::uint8_t>(i * 7 + i / 251);
    return bytes;
}

// Everything that `from` has to say, as `to` reads it; fails the case on an error.
Bytes carry(TlsSession& from, TlsSession& to) {
    Bytes got;
    std::array<std::uint8_t, 4096> chunk;
    const Bytes sealed = from.take_output();
    for (ByteView rest = sealed; !rest.empty();) {
        const auto room = to.prepare();
        const std::size_t size = std::min(rest.size(), room.size());
        std::copy_n(rest.begin(), size, room.begin());
        to.commit(size);
        rest = rest.subspan(size);
        while (true) {
            const auto read = to.read(chunk);
            BOOST_TEST_REQUIRE(read.has_value());
            if (read.value() == 0) break;
            got.insert(got.end(), chunk.begin(), chunk.begin() + static_cast<std::ptrdiff_t>(read.value()));
        }
    }
    return got;
}

struct Established {
    std::unique_ptr<TlsSession> a = dialler();
    std::unique_ptr<TlsSession> b = acceptor();
    Established() {
        const Outcome outcome = shake(*a, *b);
        BOOST_TEST_REQUIRE(outcome.dialled.value());
        BOOST_TEST_REQUIRE(outcome.accepted.value());
    }
};

// The other end by plain OpenSSL, which can be told to misbehave.
class Foreign {
  public:
    explicit Foreign(bool server) : context_(SSL_CTX_new(server ? TLS_server_method() : TLS_client_method())) {}
    ~Foreign() {
        SSL_free(ssl_);
        SSL_CTX_free(context_);
    }
    Foreign(const Foreign&) = delete;
    Foreign& operator=(const Foreign&) = delete;

    SSL_CTX* settings() { return context_; }
    SSL* ssl() { return ssl_; }

    // A certificate that it signed itself.
    void certify() {
        EVP_PKEY* const key = EVP_EC_gen("P-256");
        X509* const certificate = X509_new();
        ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
        X509_gmtime_adj(X509_getm_notBefore(certificate), -60);
        X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
        X509_set_pubkey(certificate, key);
        BOOST_TEST_REQUIRE(X509_sign(certificate, key, EVP_sha256()) > 0);
        BOOST_TEST_REQUIRE(SSL_CTX_use_certificate(context_, certificate) == 1);
        BOOST_TEST_REQUIRE(SSL_CTX_use_PrivateKey(context_, key) == 1);
        X509_free(certificate);
        EVP_PKEY_free(key);
    }

    void use_psk() {
        SSL_CTX_set_psk_use_session_callback(
            context_, [](SSL* ssl, const EVP_MD*, const unsigned char** id, std::size_t* size, SSL_SESSION** session) {
                static const auto identity = encode_psk_identity(pair_ab);
                constexpr std::array<unsigned char, 2> suite{0x13, 0x02};
                *id = identity.data();
                *size = identity.size();
                *session = SSL_SESSION_new();
                SSL_SESSION_set1_master_key(*session, secret.data(), secret.size());
                SSL_SESSION_set_cipher(*session, SSL_CIPHER_find(ssl, suite.data()));
                SSL_SESSION_set_protocol_version(*session, TLS1_3_VERSION);
                return 1;
            });
    }

    void start(bool server) {
        ssl_ = SSL_new(context_);
        SSL_set_bio(ssl_, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
        server ? SSL_set_accept_state(ssl_) : SSL_set_connect_state(ssl_);
    }
    void give(ByteView bytes) { BIO_write(SSL_get_rbio(ssl_), bytes.data(), static_cast<int>(bytes.size())); }
    Bytes take() {
        Bytes out(BIO_ctrl_pending(SSL_get_wbio(ssl_)));
        if (!out.empty()) BIO_read(SSL_get_wbio(ssl_), out.data(), static_cast<int>(out.size()));
        return out;
    }

  private:
    SSL_CTX* context_;
    SSL* ssl_ = nullptr;
};

// A foreign client meets our acceptor.
Result<bool> shake_foreign(Foreign& client, TlsSession& server) {
    Result<bool> accepted = false;
    for (int turn = 0; turn < 4 && accepted && !accepted.value(); ++turn) {
        SSL_do_handshake(client.ssl());
        const Bytes out = client.take();
        if (out.empty()) break;
        give(server, out);
        accepted = server.handshake();
        client.give(server.take_output());
    }
    SSL_do_handshake(client.ssl());
    return accepted;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(tls_session)

BOOST_AUTO_TEST_CASE(handshake_proves_who_is_at_both_ends) {
    const auto a = dialler();
    const auto b = acceptor();
    BOOST_TEST(!a->identity().has_value());
    const Outcome outcome = shake(*a, *b);
    BOOST_TEST(outcome.dialled.value());
    BOOST_TEST(outcome.accepted.value());
    BOOST_TEST(a->identity() == pair_ab);
    BOOST_TEST(b->identity() == pair_ab);
}

BOOST_AUTO_TEST_CASE(bytes_pass_both_ways_and_are_not_to_be_seen_on_the_way) {
    const Established link;
    const Bytes large = pattern(300'000);
    const Bytes small = pattern(40);
    const std::array<ByteView, 5> pieces{small, ByteView{}, large, small, small};
    BOOST_TEST(link.a->write(pieces, no_rekey).has_value());
    Bytes expected;
    for (const ByteView piece : pieces) expected.insert(expected.end(), piece.begin(), piece.end());
    BOOST_TEST(carry(*link.a, *link.b) == expected);

    const std::array<ByteView, 1> answer{small};
    BOOST_TEST(link.b->write(answer, no_rekey).has_value());
    const Bytes sealed = link.b->take_output();
    BOOST_TEST(std::ranges::search(sealed, small).empty());
    give(*link.a, sealed);
    Bytes got(100);
    const auto read = link.a->read(got);
    got.resize(read.value());
    BOOST_TEST(got == small);
}

BOOST_AUTO_TEST_CASE(small_pieces_share_a_record) {
    const Established link;
    const Bytes frame = pattern(100);
    const std::vector<ByteView> pieces(100, frame);
    BOOST_TEST(link.a->write(pieces, no_rekey).has_value());
    BOOST_TEST(link.a->take_output().size() == 100 * 100 + 22);
}

BOOST_AUTO_TEST_CASE(traffic_key_is_replaced_after_so_many_records) {
    const Established link;
    const Bytes bytes = pattern(50'000);
    const std::array<ByteView, 1> pieces{bytes};
    for (int round = 0; round < 6; ++round) {
        BOOST_TEST(link.a->write(pieces, 5).has_value());
        BOOST_TEST(carry(*link.a, *link.b) == bytes);
    }
    // 24 records in all.
    BOOST_TEST(link.a->rekeys() == 4);
    BOOST_TEST(link.b->rekeys() == 0);
}

BOOST_AUTO_TEST_CASE(key_that_is_not_held_is_named_to_the_dialler) {
    const auto a = dialler({KeyId{6}, pair_ab.initiator, pair_ab.acceptor});
    const auto b = acceptor();
    const Outcome outcome = shake(*a, *b);
    BOOST_TEST(is(outcome.accepted, errc::wrong_key));
    BOOST_TEST(is(outcome.dialled, errc::wrong_key));
    BOOST_TEST(outcome.dialled.error().detail.find("00000006") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(other_secret_under_the_same_key_id_proves_nothing) {
    const auto a = dialler(pair_ab, Digest{9});
    const auto b = acceptor();
    const Outcome outcome = shake(*a, *b);
    BOOST_TEST(is(outcome.accepted, errc::wrong_key));
    BOOST_TEST(is(outcome.dialled, errc::wrong_key));
    BOOST_TEST(!b->identity().has_value());
}

BOOST_AUTO_TEST_CASE(identity_for_another_acceptor_is_told_so) {
    const auto a = dialler({pair_ab.key, pair_ab.initiator, PeerId{0xc}});
    const auto b = acceptor();
    const Outcome outcome = shake(*a, *b);
    BOOST_TEST(is(outcome.accepted, errc::wrong_peer));
    BOOST_TEST(is(outcome.dialled, errc::wrong_peer));
}

BOOST_AUTO_TEST_CASE(plain_link_is_told_apart_and_gets_no_answer) {
    const auto b = acceptor();
    exa::wire::Hello hello;
    hello.peer = pair_ab.initiator;
    give(*b, exa::wire::encode_hello(hello));
    BOOST_TEST(is(b->handshake(), errc::encryption_mismatch));
    BOOST_TEST(b->take_output().empty());
}

BOOST_AUTO_TEST_CASE(bytes_that_are_no_protocol_get_no_answer) {
    for (const std::string_view noise : {"GET / HTTP/1.1\r\n\r\n", "\x15\x03\x03\x00\x02\x02\x73", "\x01"}) {
        const auto b = acceptor();
        give(*b, exa::as_bytes(noise));
        BOOST_TEST(is(b->handshake(), errc::malformed));
        BOOST_TEST(b->take_output().empty());
    }
}

BOOST_AUTO_TEST_CASE(plain_answer_to_a_dialler_is_told_apart) {
    const auto a = dialler();
    BOOST_TEST(!a->handshake().value());
    exa::wire::Hello hello;
    hello.peer = pair_ab.acceptor;
    give(*a, exa::wire::encode_hello(hello));
    BOOST_TEST(is(a->handshake(), errc::encryption_mismatch));
}

BOOST_AUTO_TEST_CASE(server_with_a_certificate_and_without_the_key_is_refused) {
    Foreign server(true);
    server.certify();
    server.start(true);
    const auto a = dialler();
    BOOST_TEST(!a->handshake().value());
    server.give(a->take_output());
    SSL_do_handshake(server.ssl());
    const Bytes answer = server.take();
    BOOST_TEST_REQUIRE(answer.size() > 100);
    give(*a, answer);
    BOOST_TEST(is(a->handshake(), errc::malformed));
    BOOST_TEST(!a->identity().has_value());
}

BOOST_AUTO_TEST_CASE(clients_without_a_psk_or_of_an_older_tls_are_refused) {
    for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
        Foreign client(false);
        SSL_CTX_set_max_proto_version(client.settings(), version);
        client.start(false);
        const auto b = acceptor();
        BOOST_TEST(is(shake_foreign(client, *b), errc::malformed), version);
        BOOST_TEST(SSL_is_init_finished(client.ssl()) == 0);
    }
}

BOOST_AUTO_TEST_CASE(ordinary_tls_client_with_the_psk_gets_in_and_no_ticket) {
    Foreign client(false);
    client.use_psk();
    SSL_CTX_set_options(client.settings(), SSL_OP_ALLOW_NO_DHE_KEX);
    client.start(false);
    const auto b = acceptor();
    BOOST_TEST(shake_foreign(client, *b).value());
    BOOST_TEST_REQUIRE(SSL_is_init_finished(client.ssl()) == 1);
    // The key exchange is never left out, and nothing is remembered for later.
    BOOST_TEST(SSL_get_negotiated_group(client.ssl()) == NID_X25519);
    BOOST_TEST(std::string(SSL_get_cipher(client.ssl())) == "TLS_AES_256_GCM_SHA384");
    BOOST_TEST(BIO_ctrl_pending(SSL_get_rbio(client.ssl())) == 0);
}

BOOST_AUTO_TEST_CASE(flood_of_key_updates_ends_the_session) {
    Foreign client(false);
    client.use_psk();
    client.start(false);
    const auto b = acceptor();
    BOOST_TEST_REQUIRE(shake_foreign(client, *b).value());
    std::array<std::uint8_t, 64> into;
    bool ended = false;
    int updates = 0;
    while (!ended && updates < 10'000) {
        for (int i = 0; i < 100; ++i, ++updates) {
            BOOST_TEST_REQUIRE(SSL_key_update(client.ssl(), SSL_KEY_UPDATE_REQUESTED) == 1);
            BOOST_TEST_REQUIRE(SSL_do_handshake(client.ssl()) == 1);
        }
        give(*b, client.take());
        ended = is(b->read(into), errc::malformed);
    }
    BOOST_TEST(ended);
    BOOST_TEST(b->take_output().size() < 64 * 1024);
}

BOOST_AUTO_TEST_CASE(one_flipped_bit_anywhere_in_a_client_hello_lets_nobody_in) {
    std::size_t size = 1;
    for (std::size_t at = 0; at < size; ++at) {
        const auto a = dialler();
        const auto b = acceptor();
        BOOST_TEST(!a->handshake().value());
        Bytes hello = a->take_output();
        size = hello.size();
        hello[at] ^= static_cast<std::uint8_t>(1U << (at % 8));
        give(*b, hello);
        if (const auto step = b->handshake(); !step || b->take_output().empty()) continue;
        // Two of a ClientHello's bytes are the record's version, which carries no meaning (RFC 8446 section 5.1).
        BOOST_TEST((at == 1 || at == 2), "byte " << at);
    }
    BOOST_TEST(size > 200);
}

BOOST_AUTO_TEST_CASE(truncated_handshakes_wait_without_an_answer) {
    const auto whole = dialler();
    BOOST_TEST(!whole->handshake().value());
    const Bytes hello = whole->take_output();
    for (std::size_t size = 1; size < hello.size(); ++size) {
        const auto b = acceptor();
        give(*b, ByteView(hello).first(size));
        const auto step = b->handshake();
        BOOST_TEST_REQUIRE(step.has_value());
        BOOST_TEST(!step.value());
        BOOST_TEST(b->take_output().empty());
    }
}

BOOST_AUTO_TEST_CASE(handshake_that_does_not_end_is_cut_at_four_kilobytes) {
    const auto b = acceptor();
    // A ClientHello of 64 KiB, in records of 1 KiB.
    Bytes record{22, 3, 1, 4, 0};
    record.resize(5 + 1024);
    record[5] = 1;
    record[6] = 1;
    std::size_t given = 0;
    Result<bool> step = false;
    while (step) {
        BOOST_TEST_REQUIRE(given < 8192);
        const auto room = b->prepare();
        BOOST_TEST_REQUIRE(!room.empty());
        const std::size_t size = std::min(room.size(), record.size());
        std::copy_n(record.begin(), size, room.begin());
        b->commit(size);
        given += size;
        std::fill(record.begin() + 5, record.end(), std::uint8_t{0});
        step = b->handshake();
    }
    BOOST_TEST(is(step, errc::malformed));
    BOOST_TEST(given <= 4096);
}

BOOST_AUTO_TEST_CASE(replayed_flights_are_answered_afresh_and_prove_nothing) {
    const auto a = dialler();
    const auto b = acceptor();
    BOOST_TEST(!a->handshake().value());
    const Bytes hello = a->take_output();
    give(*b, hello);
    BOOST_TEST(!b->handshake().value());
    give(*a, b->take_output());
    BOOST_TEST(a->handshake().value());
    const Bytes finished = a->take_output();
    give(*b, finished);
    BOOST_TEST(b->handshake().value());

    const auto again = acceptor();
    give(*again, hello);
    BOOST_TEST(!again->handshake().value());
    BOOST_TEST(!again->identity().has_value());
    give(*again, finished);
    BOOST_TEST(is(again->handshake(), errc::malformed));
}

BOOST_AUTO_TEST_CASE(records_that_are_changed_repeated_or_left_out_end_the_session) {
    const Bytes bytes = pattern(1000);
    const std::array<ByteView, 1> pieces{bytes};
    std::array<std::uint8_t, 2048> into;
    for (const std::string how : {"changed", "repeated", "left out"}) {
        const Established link;
        BOOST_TEST(link.a->write(pieces, no_rekey).has_value());
        Bytes first = link.a->take_output();
        BOOST_TEST(link.a->write(pieces, no_rekey).has_value());
        const Bytes second = link.a->take_output();
        if (how == "changed") first[500] ^= 1;
        give(*link.b, how == "left out" ? second : first);
        auto read = link.b->read(into);
        if (how == "repeated") {
            BOOST_TEST(read.value() == bytes.size());
            BOOST_TEST(link.b->read(into).value() == 0);
            give(*link.b, first);
            read = link.b->read(into);
        }
        BOOST_TEST(is(read, errc::malformed), how);
        BOOST_TEST(is(link.b->read(into), errc::malformed), how);
    }
}

BOOST_AUTO_TEST_CASE(last_word_is_told_from_a_cut) {
    const Established link;
    std::array<std::uint8_t, 16> into;
    link.a->finish_writing();
    give(*link.b, link.a->take_output());
    BOOST_TEST(is(link.b->read(into), errc::closed));
}

BOOST_AUTO_TEST_CASE(only_what_looks_like_tls_does) {
    BOOST_TEST(looks_like_tls(Bytes{22, 3, 1}));
    BOOST_TEST(!looks_like_tls(Bytes{22}));
    BOOST_TEST(!looks_like_tls(exa::wire::encode_hello({})));
}

BOOST_AUTO_TEST_SUITE_END()
