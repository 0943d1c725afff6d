// RequestParser: bytes of a client to requests (RESP2 and RESP3, which are one in this direction; inline commands,
// too).
//
// A loop reads into buffers(), says how much with commit(), and takes requests with next() until there is none. The
// value of a command that sets one (Command::value_at) is read to memory of its later owner (MakeBody) if it has
// large_min bytes or more, without a copy except for what came in one read with the arguments before it. A request
// above the limits is read to its end and handed on without its arguments, so that it gets an error and the connection
// goes on; only what is not the protocol breaks it. Specification:
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
    std::uint64_t arguments_max = 1 << 20;
    std::uint64_t bytes_max = 64ull << 20;  // of the arguments of one request together, without a large value
    std::size_t large_min = 16 << 10;       // below the size of the read buffer
};

// What the connections of one server may hold in arguments together, beyond the first 64 KiB of each request.
struct ArgumentBudget {
    std::uint64_t bytes_left = 256ull << 20;
};

class RequestParser {
  public:
    // `budget` outlives it.
    RequestParser(const ParserLimits& limits, MakeBody make_body, ArgumentBudget& budget);
    ~RequestParser();
    RequestParser(const RequestParser&) = delete;
    RequestParser& operator=(const RequestParser&) = delete;

    // Before a client has said who it is: at most ten arguments of 16 KiB, as Redis has it.
    void set_restricted(bool restricted) { restricted_ = restricted; }

    // The next request, or nothing before more bytes have come; nothing for good once broken(). What the one before
    // took of the budget is given back.
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
    bool skip();
    bool read_large();
    bool end_argument();
    // Whether the argument that comes next is a value that its keeper reads.
    bool is_kept_value() const;
    // Counts memory for an argument; false: it is above the limits.
    bool take_memory(std::uint64_t bytes);
    void give_back();
    void go_over(std::string why);

    std::optional<std::string_view> line(std::size_t max, const char* too_long);
    std::optional<std::int64_t> number(std::string_view text, std::int64_t max, const char* what);
    std::size_t available() const { return end_ - begin_; }
    bool fail(std::string what);

    enum class At : std::uint8_t { start, argument, small, large, skipped, end_of_argument, done };

    const ParserLimits limits_;
    const MakeBody make_body_;
    ArgumentBudget& budget_;
    bool restricted_ = false;
    std::vector<std::uint8_t> read_;
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
    At at_ = At::start;
    Request request_;
    std::uint64_t arguments_left_ = 0;
    std::uint64_t bytes_left_ = 0;  // of the argument
    std::uint64_t argument_bytes_ = 0;
    std::uint64_t memory_ = 0;       // of the request's arguments
    std::uint64_t from_budget_ = 0;  // of it, taken
    std::size_t piece_used_ = 0;     // of the last body
    std::string error_;
};

}  // namespace exa::resp
