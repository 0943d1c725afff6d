#include "wire/checksum.h"

#include "base/hash.h"
#include "wire/errc.h"

namespace exa::wire {

namespace {

std::uint8_t part(std::uint64_t hash, std::size_t i) {
    return static_cast<std::uint8_t>(hash >> (8 * i));
}

}  // namespace

Bytes add_checksum(Bytes packet) {
    const std::uint64_t hash = hash64(packet);
    for (std::size_t i = 0; i < checksum_bytes; ++i) packet.push_back(part(hash, i));
    return packet;
}

Result<ByteView> check_checksum(ByteView bytes) {
    if (bytes.size() <= checksum_bytes) return error(errc::truncated);
    const ByteView packet = bytes.first(bytes.size() - checksum_bytes);
    const std::uint64_t hash = hash64(packet);
    for (std::size_t i = 0; i < checksum_bytes; ++i)
        if (bytes[packet.size() + i] != part(hash, i)) return error(errc::damaged);
    return packet;
}

}  // namespace exa::wire
