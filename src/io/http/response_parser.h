// ResponseParser: the answers of one kept-alive connection, over Beast's parser, handed on as they arrive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "io/http/message.h"

namespace exa::io::http {

struct ResponseHead {
    int status = 0;
    HttpHeaders headers;
};

// Who wants an answer. Called within ResponseParser::feed().
class ResponseSink {
  public:
    virtual ~ResponseSink() = default;
    // Not for 1xx.
    virtual void on_head(const ResponseHead& head) = 0;
    // A piece of the body, never empty. False when the rest is not wanted.
    virtual bool on_body(std::string_view piece) = 0;
};

class ResponseParser {
  public:
    ResponseParser();
    ~ResponseParser();
    ResponseParser(const ResponseParser&) = delete;
    ResponseParser& operator=(const ResponseParser&) = delete;

    // Begins the next answer, to be handed to `sink`.
    void begin(ResponseSink& sink);
    // Takes from the front of `bytes` and returns how much; the rest must be offered again with more behind it. Nothing
    // when this is not HTTP or the sink wants no more: the connection cannot go on.
    std::optional<std::size_t> feed(std::string_view bytes);
    // The connection has ended. True when that ends the answer rightly.
    bool feed_end();

    // Any byte of the answer has come.
    bool has_begun() const;
    bool is_done() const;
    // The sink returned false.
    bool is_stopped() const;
    // Once done: another request may follow.
    bool keeps_alive() const;
    // Why feed() gave nothing.
    const std::string& fault() const;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace exa::io::http
