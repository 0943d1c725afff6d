// ReplyWriter: answers in RESP2 or RESP3, small parts as text, large values by reference.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace exa::resp {

// A value's bytes where they are kept; `owner` keeps them.
struct Piece {
    std::shared_ptr<const void> owner;
    ByteView bytes;
};

struct Value {
    std::vector<Piece> pieces;

    std::uint64_t size() const;
};

class ReplyWriter {
  public:
    void set_version(int version) { version_ = version; }
    int version() const { return version_; }

    void simple(std::string_view text);  // "+OK"
    // The first word is the kind: "ERR", "WRONGPASS". Line ends in it become spaces.
    void error(std::string_view text);
    void integer(std::int64_t value);
    void bulk(std::string_view text);
    void bulk(const Value& value);
    void null();
    void array(std::size_t count);  // `count` more answers follow
    void map(std::size_t count);    // twice as many

    bool empty() const { return pieces_.empty(); }
    std::uint64_t bytes() const { return bytes_; }
    // What was written, to be sent in this order; the writer is empty after that.
    std::vector<Piece> take();

  private:
    void text(std::string_view text);
    void header(char kind, std::int64_t value);

    int version_ = 2;
    std::vector<Piece> pieces_;
    std::shared_ptr<std::string> open_;  // the text that pieces_.back() will be
    std::uint64_t bytes_ = 0;
};

}  // namespace exa::resp
