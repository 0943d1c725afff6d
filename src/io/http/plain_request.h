// Plain requests: the kind that nearly all are, read in one pass. Whole in one piece, HTTP/1.1, GET or POST, of
// printable ASCII, a length if there is a body, and no field that would need a judgement. What is of any other kind is
// left to RequestParser; what is taken here means the same there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "io/http/message.h"

namespace exa::io::http {

// The bytes that it takes at the front of `bytes`, and the request except for `remote` and `id`. Nothing: not of that
// kind, or not yet all there.
std::optional<std::size_t> read_plain_request(std::string_view bytes, std::uint32_t header_bytes_max,
                                              std::uint64_t body_bytes_max, HttpRequest& request);

}  // namespace exa::io::http
