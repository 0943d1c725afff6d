#include "sim/process/member_disk.h"

namespace exa::sim {

namespace {

const std::string file = "members";

}  // namespace

std::vector<membership::RememberedMember> load_members(Disk& disk) {
    const auto kept = disk.read(file);
    if (!kept) return {};
    return membership::parse_members(as_text(*kept)).value_or(std::vector<membership::RememberedMember>{});
}

void store_members(Disk& disk, const std::string& text) {
    const ByteView bytes = as_bytes(text);
    if (disk.write(file, Bytes(bytes.begin(), bytes.end()))) (void)disk.sync();
}

}  // namespace exa::sim
