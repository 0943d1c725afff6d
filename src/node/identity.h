// Identity of a peer as its data directory keeps it: the id, made once, and a generation that grows with every start.
//
// The file is "exaserve-identity 2\n<16 hex digits> <decimal> <16 hex digits>\n": id, generation and a checksum of
// both, as a single flipped bit would else be another peer, or a generation that goes back. It must be on the disk
// before anybody hears of the generation, so that no two instances of a peer ever share one.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/mutant.h"

namespace exa::node {

struct Identity {
    PeerId id;
    Generation generation;
    bool operator==(const Identity&) const = default;
};

std::string format_identity(const Identity& identity);
// Nothing: the text is damaged.
std::optional<Identity> parse_identity(std::string_view text);

// The instance that starts now.
struct NextInstance {
    Identity identity;
    std::string file;  // to be stored before the identity is used
};

// `kept` is the file of before, if there is one; `fresh` the id of a peer without one. Nothing: the file is damaged,
// and the peer must not start, never under a new identity.
std::optional<NextInstance> next_instance(std::optional<std::string_view> kept, PeerId fresh,
                                          Mutant mutant = Mutant::none);

}  // namespace exa::node
