// RequestParser: bytes to one HttpRequest, over Beast's parser, with our limits and refusals on top; plain requests
// (io/http/plain_request.h) do not get that far.
//
// Where RFC 9112 lets a server choose between guessing and refusing, it refuses: two readers of one request must not
// differ in where it ends and whom it is for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "io/http/message.h"

namespace exa::io::http {

// Why a request is refused, as the client will read it. The connection cannot go on after it.
struct HttpFault {
    int status = 400;
    std::string message;
    std::string code;
};

// More is 431.
inline constexpr std::size_t header_fields_max = 128;

class RequestParser {
  public:
    RequestParser(std::uint32_t header_bytes_max, std::uint64_t body_bytes_max);
    ~RequestParser();
    RequestParser(const RequestParser&) = delete;
    RequestParser& operator=(const RequestParser&) = delete;

    // Takes from the front of `bytes` and returns how much; the rest must be offered again with more after it.
    // Headers are only taken whole. Nothing when the request is refused: see fault().
    std::optional<std::size_t> feed(std::string_view bytes);
    const HttpFault& fault() const;
    // The first field of that name as far as the header was understood, also of a request that is refused; empty when
    // absent. Valid until the next call of another member.
    std::string_view field(std::string_view name) const;

    bool header_done() const;
    bool done() const;
    // Once header_done() and before done(): the request without its body, id and remote. It is copied.
    HttpRequest head() const;
    // Of a body that is not whole, as it is held now.
    std::uint64_t body_bytes() const;
    // The client waits for "100 Continue" before it sends the body.
    bool expects_continue() const;

    // Once done(): moves the request out; `remote` is left to the caller.
    HttpRequest take();
    // HTTP/1.1 or later; a 1.0 client knows no chunks.
    bool knows_chunks() const;

  private:
    struct Impl;

    const std::uint32_t header_bytes_max_;
    const std::uint64_t body_bytes_max_;
    std::optional<HttpRequest> plain_;
    std::unique_ptr<Impl> impl_;  // null: nothing has been fed, or it is plain
};

}  // namespace exa::io::http
