// The last part of a peer's life: it finishes what it has begun, gives away what it keeps, and tells the cluster.
#pragma once

#include <memory>
#include <vector>

#include "app/config/config.h"
#include "app/control.h"
#include "app/data_plane.h"
#include "app/kv/service.h"
#include "app/replica/local_replicas.h"
#include "base/log.h"

namespace exa::app {

// Replicas here admit nothing new and finish what runs; the door stays open, routing new requests elsewhere, until
// everything it had taken before is answered; then it closes and the cluster is told. Answers that are not done by the
// deadline (drain_seconds) go on at other replicas, and have a little longer to reach this door's clients.
//
// What is stored here is given to its new owners meanwhile, and until the deadline. `kv` may be null.
void drain(const PeerConfig& config, LocalReplicas& replicas, Control& control,
           const std::vector<std::unique_ptr<DataPlane>>& planes, const KvService* kv, Log& log);

}  // namespace exa::app
