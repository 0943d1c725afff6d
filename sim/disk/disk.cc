#include "sim/disk/disk.h"

#include <utility>

namespace exa::sim {

bool Disk::takes_writes() {
    effects_.writes_refused += faults_.full ? 1 : 0;
    return !faults_.full;
}

bool Disk::write(const std::string& name, Bytes content) {
    if (!takes_writes()) return false;
    unsynced_[name] = std::move(content);
    return true;
}

Duration Disk::sync() {
    if (faults_.lies) {
        effects_.syncs_ignored += unsynced_.empty() ? 0 : 1;
        return faults_.sync_time;
    }
    for (auto& [name, content] : unsynced_) durable_[name] = std::move(content);
    unsynced_.clear();
    return faults_.sync_time;
}

std::optional<Bytes> Disk::read(const std::string& name) {
    std::optional<Bytes> content;
    if (const auto fresh = unsynced_.find(name); fresh != unsynced_.end())
        content = fresh->second;
    else if (const auto kept = durable_.find(name); kept != durable_.end())
        content = kept->second;
    if (content && faults_.corrupt && !content->empty()) {
        (*content)[rng_.below(content->size())] ^= static_cast<std::uint8_t>(1 << rng_.below(8));
        ++effects_.reads_corrupted;
    }
    return content;
}

void Disk::crash() {
    for (auto& [name, content] : unsynced_) {
        const std::uint64_t fate = rng_.below(3);
        if (fate == 0) {
            ++effects_.writes_lost;
        } else if (fate == 1) {
            durable_[name] = std::move(content);
        } else {
            content.resize(rng_.below(content.size() + 1));
            durable_[name] = std::move(content);
            ++effects_.writes_torn;
        }
    }
    unsynced_.clear();
}

void Disk::wipe() {
    durable_.clear();
    unsynced_.clear();
}

}  // namespace exa::sim
