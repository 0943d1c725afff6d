// A message of membership for people: what `exasim explain` prints of a datagram or link message.
#pragma once

#include <string>

#include "base/bytes.h"

namespace exa::sim {

// Lines that end in a newline; of bytes that are no message, one that says why. `link`: a link message.
std::string describe_message(bool link, const Bytes& bytes);

}  // namespace exa::sim
