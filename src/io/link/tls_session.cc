#include "io/link/tls_session.h"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/check.h"
#include "io/errc.h"
#include "io/tls/memory_bio.h"
#include "wire/frame.h"

namespace exa::io::link {

namespace {

// A ClientHello of ours is 250 bytes; until the handshake is done nobody is given room for more than this.
constexpr std::size_t handshake_bytes_max = 4096;
// Room for a read: it grows while reads fill it and falls back when one brings little, as on a link that rests.
constexpr std::size_t read_size_min = 4 * 1024;
constexpr std::size_t read_size_max = 64 * 1024;
constexpr std::size_t record_bytes = 16 * 1024;
constexpr std::size_t record_overhead = 5 + 1 + 16;
// What the other side may make this one say (answers to key updates) before this one writes again.
constexpr std::size_t unsolicited_bytes_max = 16 * 1024;

constexpr std::array<std::uint8_t, 2> aes_256_gcm_sha384{0x13, 0x02};
constexpr std::uint8_t tls_handshake_record = 22;
constexpr std::uint8_t tls_version_major = 3;

bool looks_like_plain_hello(ByteView first) {
    if (first.size() < wire::frame_header_size) return false;
    return wire::decode_frame_header(first.first<wire::frame_header_size>()).has_value() &&
           first[4] == static_cast<std::uint8_t>(wire::FrameType::hello);
}

}  // namespace

struct TlsContext::Parts {
    tls::MemoryBio bio;
    std::unique_ptr<SSL_CTX, tls::FreeSsl> dialler;
    std::unique_ptr<SSL_CTX, tls::FreeSsl> acceptor;
};

struct TlsSession::Engine {
    std::shared_ptr<const TlsContext> context;
    std::unique_ptr<SSL, tls::FreeSsl> ssl;
    FindPsk find;  // acceptor
    std::optional<PskIdentity> identity;
    std::array<std::uint8_t, psk_identity_size> identity_bytes{};  // what OpenSSL is given a pointer to
    std::optional<Digest> psk;                                     // until the handshake is done
    std::optional<Error> refusal;                                  // why a callback refused

    Bytes in;
    tls::TlsWire wire;  // its `in` is the part of the above that is not read yet
    std::size_t read_size = read_size_min;
    std::size_t handshake_bytes = 0;
    bool first_seen = false;
    bool established = false;
    std::uint64_t records = 0;
    std::uint64_t rekeys = 0;

    ~Engine() { forget_psk(); }
    void forget_psk() {
        if (psk) OPENSSL_cleanse(psk->data(), psk->size());
        psk.reset();
    }

    Result<void> judge_first_bytes();
    Error explain(int result);
    Result<void> seal(ByteView plain, std::uint64_t rekey_records);

    // Callbacks of OpenSSL.
    static Engine& of(const SSL* ssl) { return *static_cast<Engine*>(SSL_get_app_data(ssl)); }
    static int judge_client_hello(SSL* ssl, int* alert, void*);
    static int find_session(SSL* ssl, const unsigned char* identity, std::size_t size, SSL_SESSION** session);
    static int use_session(SSL* ssl, const EVP_MD* digest, const unsigned char** identity, std::size_t* size,
                           SSL_SESSION** session);
    SSL_SESSION* psk_session() const;
};

// OpenSSL's side.

// The identity is looked at before any key exchange, and an unknown one is answered in the words the standard has for
// it, which OpenSSL by itself would not use.
int TlsSession::Engine::judge_client_hello(SSL* ssl, int* alert, void*) {
    Engine& self = of(ssl);
    auto refuse = [&](int code, Error why) {
        *alert = code;
        self.refusal = std::move(why);
        return SSL_CLIENT_HELLO_ERROR;
    };
    const unsigned char* data = nullptr;
    std::size_t size = 0;
    if (SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_psk, &data, &size) != 1)
        return refuse(SSL_AD_MISSING_EXTENSION, error(errc::malformed, "TLS of something else: it offers no PSK"));
    // OfferedPsks: identities<u16>, each identity<u16> and age u32; binders follow. Ours offer exactly one.
    constexpr std::size_t offer_size = 2 + psk_identity_size + 4;
    const ByteView offer(data, size);
    const bool one = size >= 2 + offer_size && offer[0] == 0 && offer[1] == offer_size && offer[2] == 0 &&
                     offer[3] == psk_identity_size;
    const auto identity = one ? decode_psk_identity(offer.subspan(4, psk_identity_size)) : std::nullopt;
    if (!identity)
        return refuse(SSL_AD_UNKNOWN_PSK_IDENTITY, error(errc::malformed, "TLS of something else: a foreign PSK"));
    auto found = self.find(*identity);
    if (!found) {
        const bool mistaken = found.error().code == errc::wrong_peer;
        return refuse(mistaken ? SSL_AD_UNRECOGNIZED_NAME : SSL_AD_UNKNOWN_PSK_IDENTITY, std::move(found).error());
    }
    self.identity = *identity;
    self.psk = found.value();
    return SSL_CLIENT_HELLO_SUCCESS;
}

SSL_SESSION* TlsSession::Engine::psk_session() const {
    std::unique_ptr<SSL_SESSION, tls::FreeSsl> session(SSL_SESSION_new());
    const SSL_CIPHER* const cipher = SSL_CIPHER_find(ssl.get(), aes_256_gcm_sha384.data());
    if (!session || cipher == nullptr || SSL_SESSION_set1_master_key(session.get(), psk->data(), psk->size()) != 1 ||
        SSL_SESSION_set_cipher(session.get(), cipher) != 1 ||
        SSL_SESSION_set_protocol_version(session.get(), TLS1_3_VERSION) != 1)
        return nullptr;
    return session.release();
}

int TlsSession::Engine::find_session(SSL* ssl, const unsigned char*, std::size_t, SSL_SESSION** session) {
    const Engine& self = of(ssl);
    *session = self.psk ? self.psk_session() : nullptr;
    return *session == nullptr ? 0 : 1;
}

int TlsSession::Engine::use_session(SSL* ssl, const EVP_MD*, const unsigned char** identity, std::size_t* size,
                                    SSL_SESSION** session) {
    const Engine& self = of(ssl);
    *identity = self.identity_bytes.data();
    *size = self.identity_bytes.size();
    *session = self.psk ? self.psk_session() : nullptr;
    return *session == nullptr ? 0 : 1;
}

TlsContext::TlsContext() : parts_(std::make_unique<Parts>()) {
    using Engine = TlsSession::Engine;
    for (auto* slot : {&parts_->dialler, &parts_->acceptor}) {
        slot->reset(SSL_CTX_new(slot == &parts_->dialler ? TLS_client_method() : TLS_server_method()));
        SSL_CTX* const context = slot->get();
        EXA_CHECK(context != nullptr);
        EXA_CHECK(SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) == 1);
        EXA_CHECK(SSL_CTX_set_max_proto_version(context, TLS1_3_VERSION) == 1);
        EXA_CHECK(SSL_CTX_set_ciphersuites(context, "TLS_AES_256_GCM_SHA384") == 1);
        EXA_CHECK(SSL_CTX_set1_groups_list(context, "X25519") == 1);
        SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
        SSL_CTX_clear_options(context, SSL_OP_ENABLE_MIDDLEBOX_COMPAT | SSL_OP_ALLOW_NO_DHE_KEX);
        SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
        SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
    }
    SSL_CTX_set_num_tickets(parts_->acceptor.get(), 0);
    SSL_CTX_set_client_hello_cb(parts_->acceptor.get(), Engine::judge_client_hello, nullptr);
    SSL_CTX_set_psk_find_session_callback(parts_->acceptor.get(), Engine::find_session);
    // Whoever answers with a certificate in place of the PSK is refused: no authority is trusted.
    SSL_CTX_set_verify(parts_->dialler.get(), SSL_VERIFY_PEER, nullptr);
    SSL_CTX_set_psk_use_session_callback(parts_->dialler.get(), Engine::use_session);
}

TlsContext::~TlsContext() = default;

bool looks_like_tls(ByteView first) {
    return first.size() >= 2 && first[0] == tls_handshake_record && first[1] == tls_version_major;
}

// The session.

TlsSession::TlsSession(std::unique_ptr<Engine> engine) : engine_(std::move(engine)) {
    Engine& self = *engine_;
    const auto& parts = *self.context->parts_;
    self.ssl.reset(SSL_new(self.find ? parts.acceptor.get() : parts.dialler.get()));
    parts.bio.attach(self.ssl.get(), self.wire);
    SSL_set_app_data(self.ssl.get(), engine_.get());
    if (self.find)
        SSL_set_accept_state(self.ssl.get());
    else
        SSL_set_connect_state(self.ssl.get());
}

TlsSession::~TlsSession() = default;

std::unique_ptr<TlsSession> TlsSession::dial(std::shared_ptr<const TlsContext> context, const PskIdentity& identity,
                                             Digest psk) {
    auto engine = std::make_unique<Engine>();
    engine->context = std::move(context);
    engine->identity = identity;
    engine->identity_bytes = encode_psk_identity(identity);
    engine->psk = psk;
    return std::unique_ptr<TlsSession>(new TlsSession(std::move(engine)));
}

std::unique_ptr<TlsSession> TlsSession::accept(std::shared_ptr<const TlsContext> context, FindPsk find) {
    auto engine = std::make_unique<Engine>();
    engine->context = std::move(context);
    engine->find = std::move(find);
    EXA_CHECK(engine->find != nullptr);
    return std::unique_ptr<TlsSession>(new TlsSession(std::move(engine)));
}

Result<void> TlsSession::Engine::judge_first_bytes() {
    if (first_seen || wire.in.empty()) return success();
    first_seen = true;
    const ByteView first = wire.in;
    if (looks_like_plain_hello(first))
        return error(errc::encryption_mismatch, "the other end does not encrypt: it has no key");
    if (find && first[0] != tls_handshake_record) return error(errc::malformed, "neither TLS nor a link");
    return success();
}

Error TlsSession::Engine::explain(int result) {
    const int kind = SSL_get_error(ssl.get(), result);
    const int reason = ERR_GET_REASON(ERR_peek_error());
    std::string text = tls::take_tls_reason();
    if (refusal) return *std::exchange(refusal, std::nullopt);
    if (kind == SSL_ERROR_ZERO_RETURN) return error(errc::closed, "by the other side");
    if (!established && identity) {
        if (reason == SSL_R_TLSV1_ALERT_UNKNOWN_PSK_IDENTITY)
            return error(errc::wrong_key, "key " + to_string(identity->key));
        // OpenSSL's word for a PSK that fails its binder; the standard's is decrypt_error.
        if (reason == SSL_R_SSLV3_ALERT_ILLEGAL_PARAMETER || reason == SSL_R_TLSV1_ALERT_DECRYPT_ERROR ||
            reason == SSL_R_BINDER_DOES_NOT_VERIFY)
            return error(errc::wrong_key, "another secret or cluster under key " + to_string(identity->key));
        if (reason == SSL_R_TLSV1_UNRECOGNIZED_NAME) return error(errc::wrong_peer);
    }
    return error(errc::malformed, "TLS: " + std::move(text));
}

Result<bool> TlsSession::handshake() {
    Engine& self = *engine_;
    EXA_TRY(self.judge_first_bytes());
    ERR_clear_error();
    const int result = SSL_do_handshake(self.ssl.get());
    if (result != 1) {
        if (SSL_get_error(self.ssl.get(), result) != SSL_ERROR_WANT_READ) return self.explain(result);
        if (self.handshake_bytes >= handshake_bytes_max)
            return error(errc::malformed, "a handshake of more than " + std::to_string(handshake_bytes_max) + " bytes");
        return false;
    }
    // Nothing but the PSK proves anything here.
    if (SSL_session_reused(self.ssl.get()) != 1) return error(errc::malformed, "TLS without the PSK");
    self.established = true;
    self.forget_psk();
    return true;
}

const std::optional<PskIdentity>& TlsSession::identity() const {
    static const std::optional<PskIdentity> unproven;
    return engine_->established ? engine_->identity : unproven;
}

std::span<std::uint8_t> TlsSession::prepare() {
    Engine& self = *engine_;
    EXA_CHECK(self.wire.in.empty());
    const std::size_t size = self.established ? self.read_size : handshake_bytes_max - self.handshake_bytes;
    if (self.in.size() < size || self.in.size() > std::max(size, read_size_min)) {
        self.in.resize(std::max(size, read_size_min));
        self.in.shrink_to_fit();
    }
    return std::span(self.in).first(size);
}

void TlsSession::commit(std::size_t count) {
    Engine& self = *engine_;
    self.wire.in = ByteView(self.in).first(count);
    if (!self.established)
        self.handshake_bytes += count;
    else if (count == self.read_size)
        self.read_size = std::min(4 * self.read_size, read_size_max);
    else if (count < self.read_size / 16)
        self.read_size = read_size_min;
}

Result<std::size_t> TlsSession::read(std::span<std::uint8_t> into) {
    Engine& self = *engine_;
    const std::size_t waiting = self.wire.out.size();
    ERR_clear_error();
    std::size_t size = 0;
    const int result = SSL_read_ex(self.ssl.get(), into.data(), into.size(), &size);
    if (self.wire.out.size() > waiting && self.wire.out.size() > unsolicited_bytes_max)
        return error(errc::malformed, "TLS: too many key updates");
    if (result == 1) return size;
    if (SSL_get_error(self.ssl.get(), result) == SSL_ERROR_WANT_READ) return std::size_t{0};
    return self.explain(result);
}

Result<void> TlsSession::Engine::seal(ByteView plain, std::uint64_t rekey_records) {
    if (records >= rekey_records) {
        // The other side follows without being asked; it need not replace its own.
        if (SSL_key_update(ssl.get(), SSL_KEY_UPDATE_NOT_REQUESTED) != 1)
            return error(errc::broken, tls::take_tls_reason());
        records = 0;
        ++rekeys;
    }
    ERR_clear_error();
    std::size_t written = 0;
    const int result = SSL_write_ex(ssl.get(), plain.data(), plain.size(), &written);
    if (result != 1) return explain(result);
    ++records;
    return success();
}

Result<void> TlsSession::write(std::span<const ByteView> pieces, std::uint64_t rekey_records) {
    Engine& self = *engine_;
    std::size_t total = 0;
    for (const ByteView piece : pieces) total += piece.size();
    self.wire.out.reserve(self.wire.out.size() + total + (total / record_bytes + 2) * record_overhead);
    Bytes gathered;
    gathered.reserve(std::min(total, record_bytes));
    for (ByteView piece : pieces) {
        while (!piece.empty()) {
            if (gathered.empty() && piece.size() >= record_bytes) {
                EXA_TRY(self.seal(piece.first(record_bytes), rekey_records));
                piece = piece.subspan(record_bytes);
                continue;
            }
            const ByteView part = piece.first(std::min(piece.size(), record_bytes - gathered.size()));
            gathered.insert(gathered.end(), part.begin(), part.end());
            piece = piece.subspan(part.size());
            if (gathered.size() < record_bytes) continue;
            EXA_TRY(self.seal(gathered, rekey_records));
            gathered.clear();
        }
    }
    if (gathered.empty()) return success();
    return self.seal(gathered, rekey_records);
}

void TlsSession::finish_writing() {
    if (!engine_->established) return;
    ERR_clear_error();
    SSL_shutdown(engine_->ssl.get());
    ERR_clear_error();
}

Bytes TlsSession::take_output(Bytes reuse) {
    reuse.clear();
    return std::exchange(engine_->wire.out, std::move(reuse));
}

std::uint64_t TlsSession::rekeys() const {
    return engine_->rekeys;
}

}  // namespace exa::io::link
