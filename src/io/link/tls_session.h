// TlsSession: one end of a TLS 1.3 connection without its socket. Bytes of the network go in and come out, plain bytes
// come out and go in.
//
// TLS 1.3 only, one cipher suite (AES-256-GCM with SHA-384), one group (X25519), and one way to be who one says one
// is: a PSK of the pair with a fresh key exchange (psk_dhe_ke). No certificates, tickets, early data, compression or
// renegotiation, so there is nothing to be talked down to. What an acceptor spends on an unknown sender is bounded: a
// few kilobytes, and no key exchange before the dialler has proven that it holds the key.
//
// Usage: while handshake() wants more, send take_output(), then read into prepare() and commit(). Then read() and
// write(), sending take_output() after each write.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/crypto.h"
#include "base/result.h"
#include "io/link/psk.h"

namespace exa::io::link {

// Settings that all sessions share. Thread-safe. A failure inside OpenSSL (out of memory, a missing provider) is a bug
// of the installation and aborts.
class TlsContext {
  public:
    TlsContext();
    ~TlsContext();
    TlsContext(const TlsContext&) = delete;
    TlsContext& operator=(const TlsContext&) = delete;

  private:
    friend class TlsSession;
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

// The plain bytes of a first read begin as those of a TLS connection do.
bool looks_like_tls(ByteView first);

class TlsSession {
  public:
    // The PSK of an identity that an unknown sender claims; an error refuses it: errc::wrong_key when the key is not
    // held, errc::wrong_peer when the identity names somebody else than this peer as the acceptor, or itself as
    // initiator.
    using FindPsk = std::function<Result<Digest>(const PskIdentity&)>;

    static std::unique_ptr<TlsSession> dial(std::shared_ptr<const TlsContext> context, const PskIdentity& identity,
                                            Digest psk);
    // `find` is called within handshake(), once for each ClientHello (the protocol allows two).
    static std::unique_ptr<TlsSession> accept(std::shared_ptr<const TlsContext> context, FindPsk find);
    ~TlsSession();
    TlsSession(const TlsSession&) = delete;
    TlsSession& operator=(const TlsSession&) = delete;

    // True when both ends have proven themselves, false while more bytes are needed. Errors, after which only
    // take_output() has a meaning (what is to be told to the other side, often nothing): wrong_key, wrong_peer (either
    // end's opinion), encryption_mismatch (the other side speaks the plain protocol), malformed.
    Result<bool> handshake();
    // Set by a handshake that ended well: which key, and who is at the ends.
    const std::optional<PskIdentity>& identity() const;

    // Room for bytes from the network, valid until the next call of any member; commit() what arrived. Not called while
    // read() has more to give.
    std::span<std::uint8_t> prepare();
    void commit(std::size_t count);

    // Plain bytes that have arrived; 0 when more bytes of the network are needed. errc::malformed, or errc::closed when
    // the other side has said that nothing follows: every later call answers the same.
    Result<std::size_t> read(std::span<std::uint8_t> into);
    // Encrypts `pieces`, small ones together. `rekey_records`: the traffic key is replaced after this many records.
    Result<void> write(std::span<const ByteView> pieces, std::uint64_t rekey_records);
    // Says that nothing follows.
    void finish_writing();

    // What is to be sent, in order; empties it. `reuse` lends its memory.
    Bytes take_output(Bytes reuse = {});
    std::uint64_t rekeys() const;

  private:
    friend class TlsContext;
    struct Engine;
    explicit TlsSession(std::unique_ptr<Engine> engine);
    std::unique_ptr<Engine> engine_;
};

}  // namespace exa::io::link
