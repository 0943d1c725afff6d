#include "membership/record_pacer.h"

#include <algorithm>

#include "wire/gossip.h"

namespace exa::membership {

namespace {

// Nothing is on its way to be ready.
bool is_complete(const wire::PeerRecord& record) {
    return std::ranges::all_of(record.replicas, [](const wire::ReplicaRecord& replica) {
        return replica.state > wire::ReplicaState::warming;
    });
}

// True when something that others may use now is no longer there, or at another place.
bool takes_away(const wire::PeerRecord& before, const wire::PeerRecord& after) {
    if (wire::profile_of(before) != wire::profile_of(after)) return true;
    for (const wire::ReplicaRecord& replica : before.replicas) {
        if (replica.state != wire::ReplicaState::ready) continue;
        const auto at = std::ranges::lower_bound(after.replicas, replica.id, {}, &wire::ReplicaRecord::id);
        if (at == after.replicas.end() || *at != replica) return true;
    }
    return false;
}

}  // namespace

RecordPacer::RecordPacer(TimePoint now, const Config& config)
    : told_(now - std::chrono::hours{1}), wait_(config.record_interval) {}

bool RecordPacer::is_urgent(TimePoint now, const wire::PeerRecord& before, const wire::PeerRecord& after) const {
    return now >= due() || takes_away(before, after) || (!is_complete(before) && is_complete(after));
}

void RecordPacer::note_told(TimePoint now, const Config& config) {
    const bool goes_on = now < told_ + 2 * wait_;
    wait_ = goes_on ? std::min(2 * wait_, config.record_interval_max) : config.record_interval;
    told_ = now;
}

}  // namespace exa::membership
