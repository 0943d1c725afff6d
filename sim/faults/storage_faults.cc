#include "sim/faults/storage_faults.h"

namespace exa::sim {

WorldTime StorageFaults::begin(Injection& injection) {
    for (const Host host : injection.hosts) {
        DiskFaults& faults = cluster_.peer(host).disk.faults();
        switch (injection.fault.kind) {
            case FaultKind::disk_full:
                faults.full = true;
                break;
            case FaultKind::disk_lies:
                faults.lies = true;
                break;
            case FaultKind::disk_corrupt:
                faults.corrupt = true;
                break;
            case FaultKind::disk_slow:
                ++injection.effects;
                faults.sync_time = injection.fault.time;
                break;
            default:
                if (harm_kv_) injection.effects += harm_kv_(host, injection.fault);
                break;
        }
    }
    return injection.until;
}

Ending StorageFaults::end(Injection& injection) {
    for (const Host host : injection.hosts) {
        auto& disk = cluster_.peer(host).disk;
        switch (injection.fault.kind) {
            case FaultKind::disk_full:
                injection.effects += disk.effects().writes_refused;
                disk.faults().full = false;
                break;
            case FaultKind::disk_lies:
                injection.effects += disk.effects().syncs_ignored;
                disk.faults().lies = false;
                break;
            case FaultKind::disk_corrupt:
                injection.effects += disk.effects().reads_corrupted;
                disk.faults().corrupt = false;
                break;
            case FaultKind::disk_slow:
                disk.faults().sync_time = DiskFaults{}.sync_time;
                break;
            default:
                break;
        }
    }
    return {};
}

}  // namespace exa::sim
