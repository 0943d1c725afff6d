// MemoryBio: what OpenSSL reads from and writes to in place of a socket.
#pragma once

#include <openssl/bio.h>
#include <openssl/ssl.h>

#include <memory>
#include <string>

#include "base/bytes.h"

namespace exa::io::tls {

// Bytes of the network on their way into a session and out of it.
struct TlsWire {
    ByteView in;  // not read yet; whoever sets it keeps what it points to until it is empty
    Bytes out;    // in order, to be sent
};

// A kind of BIO. Outlives the BIOs; making them is thread-safe.
class MemoryBio {
  public:
    MemoryBio();

    // Makes `ssl` read and write `wire`, which outlives it.
    void attach(SSL* ssl, TlsWire& wire) const;

  private:
    struct Free {
        void operator()(BIO_METHOD* method) const { BIO_meth_free(method); }
    };
    std::unique_ptr<BIO_METHOD, Free> method_;
};

struct FreeSsl {
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
    void operator()(SSL* ssl) const { SSL_free(ssl); }
    void operator()(SSL_SESSION* session) const { SSL_SESSION_free(session); }
};

// What OpenSSL thinks of the last call that failed; empties its queue.
std::string take_tls_reason();

}  // namespace exa::io::tls
