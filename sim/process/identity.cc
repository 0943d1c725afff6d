#include "sim/process/identity.h"

#include <string>

namespace exa::sim {

namespace {

const std::string file = "identity";

}  // namespace

IdentityOpened open_identity(Disk& disk, PeerId fresh, Mutant mutant) {
    const auto kept = disk.read(file);
    const auto text = kept ? std::optional(as_text(*kept)) : std::nullopt;
    const auto next = node::next_instance(text, fresh, mutant);
    if (!next) return {};
    const ByteView bytes = as_bytes(next->file);
    if (!disk.write(file, Bytes(bytes.begin(), bytes.end()))) return {};
    return {next->identity, disk.sync()};
}

}  // namespace exa::sim
