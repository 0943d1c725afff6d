// TlsStream: one end of an HTTPS connection without its socket. Bytes of the network go in and come out, plain bytes
// come out and go in.
//
// Usage: a client's first output is there at once. Whatever take() or write() leaves in has_output() is to be sent,
// also after an error: it tells the other side why.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "base/bytes.h"
#include "base/result.h"
#include "io/tls/settings.h"

namespace exa::io::tls {

class TlsStream {
  public:
    // `server` is whom a client wants to talk to, a name or an address; a server leaves it empty.
    explicit TlsStream(std::shared_ptr<const TlsSettings> settings, const std::string& server = {});
    ~TlsStream();
    TlsStream(const TlsStream&) = delete;
    TlsStream& operator=(const TlsStream&) = delete;

    // Takes all of `wire` and appends what it says to `plain`. Errors end the stream: errc::malformed, errc::untrusted
    // (a client's: the server's certificate), errc::broken (the other side gave up, and why).
    Result<void> take(ByteView wire, std::string& plain);
    // A byte of the other side has come.
    bool begun() const;
    // Both sides have shaken hands.
    bool established() const;
    // The other side has said that nothing follows.
    bool ended() const;

    // Seals `pieces`, together where they are small. Only once established. errc::broken.
    Result<void> write(std::span<const ByteView> pieces);
    // Says that nothing follows, when that can be said.
    void finish();

    bool has_output() const;
    // What is to be sent, in order; empties it. `reuse` lends its memory.
    Bytes take_output(Bytes reuse = {});

    // "TLSv1.3" and the like, once established.
    std::string protocol() const;

  private:
    struct Parts;
    Error explain(int result) const;
    Result<void> shake_hands();
    Result<void> seal(ByteView plain);

    std::unique_ptr<Parts> parts_;
};

}  // namespace exa::io::tls
