#include "sim/process/key_disk.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "membership/key_file.h"
#include "node/key_history.h"

namespace exa::sim {

namespace {

const std::string file = "keys";

bool store(Disk& disk, const std::string& text) {
    const ByteView bytes = as_bytes(text);
    if (!disk.write(file, Bytes(bytes.begin(), bytes.end()))) return false;
    // How long it took does not matter to anyone but the commands of operators, which wait for much more.
    (void)disk.sync();
    return true;
}

}  // namespace

std::optional<membership::KeyRing> load_keys(const Crypto& crypto, Disk& disk, const ClusterKey& given) {
    const auto kept = disk.read(file);
    const auto text = kept ? std::optional(as_text(*kept)) : std::nullopt;
    auto first = node::first_ring(crypto, text, std::vector{given});
    if (!first || (first.value().file && !store(disk, *first.value().file))) return std::nullopt;
    return std::move(first).value().ring;
}

bool has_keys(Disk& disk) {
    return disk.read(file).has_value();
}

bool store_keys(Disk& disk, const membership::KeyRing& ring) {
    return store(disk, membership::format_ring(ring.state()));
}

}  // namespace exa::sim
