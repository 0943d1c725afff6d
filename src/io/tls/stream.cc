#include "io/tls/stream.h"

#include <openssl/err.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/endpoint.h"
#include "io/errc.h"
#include "io/tls/settings_parts.h"

namespace exa::io::tls {

namespace {

// A handshake takes a few kilobytes, a long chain of certificates included.
constexpr std::size_t handshake_bytes_max = 64 * 1024;
constexpr std::size_t record_bytes = 16 * 1024;
// What the other side may make this one say, such as answers to key updates, before it takes any of it.
constexpr std::size_t unsolicited_bytes_max = 16 * 1024;

constexpr unsigned char alpn_offer[] = {8, 'h', 't', 't', 'p', '/', '1', '.', '1'};

bool is_address(const std::string& server) {
    return server.find(':') != std::string::npos || parse_endpoint(server + ":1").has_value();
}

}  // namespace

struct TlsStream::Parts {
    std::shared_ptr<const TlsSettings> settings;
    TlsWire wire;
    std::unique_ptr<SSL, FreeSsl> ssl;  // reads and writes `wire`
    std::size_t handshake_bytes = 0;
    bool established = false;
    bool ended = false;
};

TlsStream::TlsStream(std::shared_ptr<const TlsSettings> settings, const std::string& server)
    : parts_(std::make_unique<Parts>()) {
    parts_->settings = std::move(settings);
    const TlsSettings::Parts& ours = *parts_->settings->parts_;
    SSL* const ssl = SSL_new(ours.context.get());
    parts_->ssl.reset(ssl);
    ours.bio.attach(ssl, parts_->wire);
    if (ours.is_server) {
        SSL_set_accept_state(ssl);
        return;
    }
    SSL_set_connect_state(ssl);
    EXA_CHECK(SSL_set_alpn_protos(ssl, alpn_offer, sizeof alpn_offer) == 0);
    if (!is_address(server)) {
        // A name that is too long to be one is refused by whoever is asked for it.
        SSL_set_tlsext_host_name(ssl, server.c_str());
        if (ours.checks_name) SSL_set1_host(ssl, server.c_str());
    } else if (ours.checks_name) {
        X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), server.c_str());
    }
    ERR_clear_error();
    SSL_do_handshake(ssl);
    ERR_clear_error();
}

TlsStream::~TlsStream() = default;

bool TlsStream::begun() const {
    return parts_->handshake_bytes > 0;
}

bool TlsStream::established() const {
    return parts_->established;
}

bool TlsStream::ended() const {
    return parts_->ended;
}

bool TlsStream::has_output() const {
    return !parts_->wire.out.empty();
}

Bytes TlsStream::take_output(Bytes reuse) {
    reuse.clear();
    return std::exchange(parts_->wire.out, std::move(reuse));
}

std::string TlsStream::protocol() const {
    return SSL_get_version(parts_->ssl.get());
}

Error TlsStream::explain(int result) const {
    SSL* const ssl = parts_->ssl.get();
    const int kind = SSL_get_error(ssl, result);
    const int reason = ERR_GET_REASON(ERR_peek_error());
    std::string text = take_tls_reason();
    if (reason == SSL_R_CERTIFICATE_VERIFY_FAILED)
        return error(errc::untrusted, X509_verify_cert_error_string(SSL_get_verify_result(ssl)));
    // OpenSSL's numbers for what the other side's alerts say.
    if (kind == SSL_ERROR_SSL && reason >= SSL_AD_REASON_OFFSET && reason < SSL_AD_REASON_OFFSET + 256)
        return error(errc::broken, "TLS: " + std::move(text));
    return error(errc::malformed, "TLS: " + std::move(text));
}

Result<void> TlsStream::shake_hands() {
    Parts& self = *parts_;
    ERR_clear_error();
    const int result = SSL_do_handshake(self.ssl.get());
    if (result == 1) {
        self.established = true;
        return success();
    }
    if (SSL_get_error(self.ssl.get(), result) != SSL_ERROR_WANT_READ) return explain(result);
    if (self.handshake_bytes > handshake_bytes_max) return error(errc::malformed, "TLS: a handshake without an end");
    return success();
}

Result<void> TlsStream::take(ByteView wire, std::string& plain) {
    Parts& self = *parts_;
    self.wire.in = wire;
    if (!self.established) {
        self.handshake_bytes += wire.size();
        auto shaken = shake_hands();
        if (!shaken || !self.established) {
            self.wire.in = {};
            return shaken;
        }
    }
    const std::size_t waiting = self.wire.out.size();
    Result<void> taken = success();
    while (!self.ended) {
        const std::size_t size = plain.size();
        plain.resize(size + record_bytes);
        ERR_clear_error();
        std::size_t got = 0;
        const int result = SSL_read_ex(self.ssl.get(), plain.data() + size, record_bytes, &got);
        plain.resize(size + got);
        if (self.wire.out.size() > waiting + unsolicited_bytes_max) {
            taken = error(errc::malformed, "TLS: it asks for more than it takes");
            break;
        }
        if (result == 1) continue;
        const int kind = SSL_get_error(self.ssl.get(), result);
        if (kind == SSL_ERROR_WANT_READ) break;
        if (kind == SSL_ERROR_ZERO_RETURN) {
            self.ended = true;
            ERR_clear_error();
            break;
        }
        taken = explain(result);
        break;
    }
    self.wire.in = {};
    return taken;
}

Result<void> TlsStream::seal(ByteView plain) {
    ERR_clear_error();
    std::size_t written = 0;
    if (SSL_write_ex(parts_->ssl.get(), plain.data(), plain.size(), &written) == 1) return success();
    return error(errc::broken, "TLS: " + take_tls_reason());
}

Result<void> TlsStream::write(std::span<const ByteView> pieces) {
    EXA_CHECK(parts_->established);
    Bytes gathered;
    for (ByteView piece : pieces) {
        while (!piece.empty()) {
            if (gathered.empty() && piece.size() >= record_bytes) {
                EXA_TRY(seal(piece.first(record_bytes)));
                piece = piece.subspan(record_bytes);
                continue;
            }
            const ByteView part = piece.first(std::min(piece.size(), record_bytes - gathered.size()));
            gathered.insert(gathered.end(), part.begin(), part.end());
            piece = piece.subspan(part.size());
            if (gathered.size() < record_bytes) continue;
            EXA_TRY(seal(gathered));
            gathered.clear();
        }
    }
    if (gathered.empty()) return success();
    return seal(gathered);
}

void TlsStream::finish() {
    if (!parts_->established) return;
    ERR_clear_error();
    SSL_shutdown(parts_->ssl.get());
    ERR_clear_error();
}

}  // namespace exa::io::tls
