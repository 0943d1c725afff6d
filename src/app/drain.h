// Carries out the drain that node/drain.h decides.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "app/control.h"
#include "app/data_plane.h"
#include "app/kv/service.h"
#include "app/replica/local_replicas.h"
#include "base/log.h"
#include "io/clock/system_clock.h"

namespace exa::app {

struct DrainDeps {
    replica::LocalReplicas& replicas;
    Control& control;
    const std::vector<std::unique_ptr<DataPlane>>& planes;
    const kv::KvService* kv;  // null: this peer keeps no KV
    const io::clock::SystemClock& clock;
    Log& log;
};

// Blocks until this peer has left, which takes `seconds_max` and a few seconds more at most.
void drain(const DrainDeps& deps, std::uint32_t seconds_max);

}  // namespace exa::app
