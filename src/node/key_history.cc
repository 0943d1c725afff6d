#include "node/key_history.h"

#include "membership/key_file.h"

namespace exa::node {

Result<FirstRing> first_ring(const Crypto& crypto, std::optional<std::string_view> kept,
                             std::span<const ClusterKey> given) {
    FirstRing first;
    if (kept) {
        EXA_TRY(const auto keys, membership::parse_ring(*kept));
        first.ring = membership::KeyRing(crypto, keys);
    }
    const membership::KeyRing before = first.ring;
    first.ring.add_first(given);
    if (!(first.ring == before)) first.file = membership::format_ring(first.ring.state());
    return first;
}

}  // namespace exa::node
