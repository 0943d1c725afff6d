#include "sim/process/key_disk.h"

#include <string>
#include <vector>

#include "membership/key_file.h"

namespace exa::sim {

namespace {

const std::string file = "keys";

}  // namespace

std::optional<membership::KeyRing> load_keys(const Crypto& crypto, Disk& disk, const ClusterKey& first) {
    membership::KeyRing ring;
    if (const auto kept = disk.read(file)) {
        const auto keys = membership::parse_ring(as_text(*kept));
        if (!keys) return std::nullopt;
        ring = membership::KeyRing(crypto, keys.value());
    }
    ring.add_first(std::vector{first});
    return ring;
}

bool has_keys(Disk& disk) {
    return disk.read(file).has_value();
}

bool store_keys(Disk& disk, const membership::KeyRing& ring) {
    const std::string text = membership::format_ring(ring.state());
    const ByteView bytes = as_bytes(text);
    if (!disk.write(file, Bytes(bytes.begin(), bytes.end()))) return false;
    // How long it took does not matter to anyone but the orders of operators, which wait for much more.
    (void)disk.sync();
    return true;
}

}  // namespace exa::sim
