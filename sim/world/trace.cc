#include "sim/world/trace.h"

#include "base/hash.h"

namespace exa::sim {

void Trace::note(TraceEntry entry) {
    entry.number = ++entries_;
    const std::uint64_t who =
        static_cast<std::uint64_t>(entry.kind) << 56 ^ std::uint64_t{entry.host} << 28 ^ entry.from;
    const std::uint64_t what = hash64(who, entry.arg, entry.digest);
    hash_ = hash64(hash_ ^ what, static_cast<std::uint64_t>(entry.at.time_since_epoch().count()));
    entry.hash = hash_;
    // Sweeps are of no host.
    if (entry.kind != EventKind::sweep) {
        if (last_of_.size() <= entry.host) last_of_.resize(entry.host + std::size_t{1});
        last_of_[entry.host] = entry.number;
    }
    if (listener_ && !listener_(entry)) stopped_ = true;
}

}  // namespace exa::sim
