// The members that a peer remembers, on its simulated disk; the file is production's (membership/member_memory.h).
#pragma once

#include <string>
#include <vector>

#include "membership/member_memory.h"
#include "sim/disk/disk.h"

namespace exa::sim {

// None when there is no file, or a damaged one.
std::vector<membership::RememberedMember> load_members(Disk& disk);
// A full disk keeps the file of before.
void store_members(Disk& disk, const std::string& text);

}  // namespace exa::sim
