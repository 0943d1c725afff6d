// RequestParser: bytes of a client to requests (RESP2 and RESP3, which are one in this direction; inline commands,
// too).
//
// A loop reads into buffers(), says how much with commit(), and takes requests with next() until there is none. An
// argument of large_min bytes or more is read to memory of its later owner (MakeBody), without a copy except for what
// came in one read with the arguments before it. Specification:
// https://redis.io/docs/latest/develop/reference/protocol-spec/
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "resp/request.h"

namespace exa::resp {

struct ParserLimits {
    std::uint64_t argument_max = 512ull << 20;  // bytes
    std::uint64_t arguments_max = 4096;
    std::uint64_t small_bytes_max = 1 << 20;  // of the small arguments of one request together
    std::size_t large_min = 16 << 10;         // below the size of the read buffer
};

class RequestParser {
  public:
    RequestParser(const ParserLimits& limits, MakeBody make_body);

    // The next request, or nothing before more bytes have come; nothing for good once broken().
    std::optional<Request> next();

    // Where the next bytes go, first to last; the first may be empty. Only after next() gave nothing, not when
    // broken().
    std::array<std::span<std::uint8_t>, 2> buffers();
    void commit(std::size_t bytes);

    // The client does not speak the protocol: error() says how, and the connection cannot go on.
    bool broken() const { return !error_.empty(); }
    std::string_view error() const { return error_; }

  private:
    // Each makes one step: false when it lacks bytes, or is broken.
    bool step();
    bool start_request();
    bool start_argument();
    bool read_small();
    bool read_large();
    bool end_argument();
    void split_inline(std::string_view line);

    std::optional<std::string_view> line(std::size_t max);
    std::optional<std::uint64_t> number(std::string_view text, std::uint64_t max, const char* what);
    std::size_t available() const { return end_ - begin_; }
    bool fail(std::string what);

    enum class At : std::uint8_t { start, argument, small, large, end_of_argument, done };

    const ParserLimits limits_;
    const MakeBody make_body_;
    std::vector<std::uint8_t> read_;
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
    At at_ = At::start;
    Request request_;
    std::uint64_t arguments_left_ = 0;
    std::uint64_t bytes_left_ = 0;  // of the argument
    std::uint64_t small_bytes_ = 0;
    std::size_t piece_used_ = 0;  // of the last body
    std::string error_;
};

}  // namespace exa::resp
