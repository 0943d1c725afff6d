#include "sim/process/identity.h"

#include <array>
#include <cstring>
#include <string>

#include "base/hash.h"

namespace exa::sim {

namespace {

const std::string file = "identity";

Bytes encode(const Identity& identity) {
    const std::array<std::uint64_t, 3> words{identity.id.value, identity.generation.value,
                                             hash64(identity.id.value, identity.generation.value)};
    Bytes bytes(sizeof(words));
    std::memcpy(bytes.data(), words.data(), bytes.size());
    return bytes;
}

std::optional<Identity> decode(const Bytes& bytes) {
    std::array<std::uint64_t, 3> words{};
    if (bytes.size() != sizeof(words)) return std::nullopt;
    std::memcpy(words.data(), bytes.data(), bytes.size());
    if (words[2] != hash64(words[0], words[1])) return std::nullopt;
    return Identity{PeerId{words[0]}, Generation{words[1]}};
}

}  // namespace

IdentityOpened open_identity(Disk& disk, PeerId fresh, bool persists) {
    Identity identity{fresh, Generation{0}};
    const auto kept = disk.read(file);
    if (kept) {
        const auto decoded = decode(*kept);
        if (!decoded) return {};
        identity = *decoded;
    }
    ++identity.generation.value;
    if (kept && !persists) return {identity, Duration{0}};
    if (!disk.write(file, encode(identity))) return {};
    return {identity, disk.sync()};
}

}  // namespace exa::sim
