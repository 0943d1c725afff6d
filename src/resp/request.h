// What a client of the Redis protocol asks, as the parser hands it on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace exa::resp {

// Memory that belongs to whoever will keep a large argument, so that its bytes are read to where they stay.
struct Body {
    std::shared_ptr<void> owner;
    std::span<std::uint8_t> bytes;  // not empty
};

struct Request {
    std::vector<std::string> arguments;  // the command's name first, as it was sent; a large one stands empty here
    std::vector<Body> bodies;            // the large argument, in pieces, in order
    std::uint64_t body_bytes = 0;
    bool refused = false;  // there was no memory for the large argument: its bytes were skipped
    // Above the limits, as this says; all arguments but the first are skipped. Empty: it is within them.
    std::string over_limit;
};

// Where up to `bytes` more of a large value go; it follows the arguments that `so_far` has. Nothing: skip it.
using MakeBody = std::function<std::optional<Body>(const Request& so_far, std::uint64_t bytes)>;

}  // namespace exa::resp
