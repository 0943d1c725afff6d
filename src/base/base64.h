// Base64 as RFC 4648, section 4: the standard alphabet, padded.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"

namespace exa {

std::string to_base64(ByteView bytes);

// Nothing unless `text` is exactly what to_base64 gives for some bytes: one text for each of them.
std::optional<Bytes> from_base64(std::string_view text);

}  // namespace exa
