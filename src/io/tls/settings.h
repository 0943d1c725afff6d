// TlsSettings: what one end of an HTTPS connection brings: a certificate, or whom it trusts.
//
// TLS 1.2 and 1.3 with forward secrecy and authenticated encryption only (RFC 9325 sections 4.1 and 4.2); no
// renegotiation, compression or early data. ALPN is "http/1.1". Links between peers have settings of their own
// (io/link/tls_session.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace exa::io::tls {

// Of a certificate, for people.
struct CertificateFacts {
    std::string subject;  // "CN=example.org", printable ASCII
    std::int64_t not_before_unix_s = 0;
    std::int64_t not_after_unix_s = 0;
    bool operator==(const CertificateFacts&) const = default;
};

// Immutable and thread-safe; sessions made with it keep what they need.
class TlsSettings {
  public:
    // A server's: its certificate and those that sign it, the leaf first, and its unencrypted key, as PEM text.
    // errc::bad_certificate says what is wrong, and never what stands in the key.
    static Result<std::shared_ptr<const TlsSettings>> serve(std::string_view chain_pem, std::string_view key_pem);
    // A client's: certificates that are trusted, or signed something that is, as PEM text; empty: what the system
    // trusts. `checks_name` false takes a trusted certificate whatever name it is for. errc::bad_certificate.
    static Result<std::shared_ptr<const TlsSettings>> trust(std::string_view pem, bool checks_name = true);
    ~TlsSettings();
    TlsSettings(const TlsSettings&) = delete;
    TlsSettings& operator=(const TlsSettings&) = delete;

    // Of the leaf; empty for a client's.
    const CertificateFacts& facts() const;

  private:
    friend class TlsStream;
    struct Parts;
    explicit TlsSettings(std::unique_ptr<Parts> parts);
    std::unique_ptr<Parts> parts_;
};

}  // namespace exa::io::tls
