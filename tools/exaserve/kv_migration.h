// KvMigration: brings segments to a peer that lacks them, from whoever has them. What is there already is not moved, so
// a migration that was cut short goes on where it was when it is begun again.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "exaserve/arguments.h"
#include "exaserve/cluster_client.h"
#include "exaserve/failure.h"
#include "exaserve/kv_places.h"
#include "exaserve/progress.h"

namespace exa::cli {

struct KvMigrated {
    std::size_t segments = 0;
    std::size_t moved = 0;
    std::size_t were_there = 0;
    std::size_t nowhere = 0;  // on no peer's disk: computed again where they are needed
    std::size_t refused = 0;  // the destination did not take them, or their holder did not give them
};

// Moves the segments that `places` knows of and shows how far it is. Ends when all are there, or nothing has moved for
// 30 s. exit_unreachable, exit_refused: the destination does not answer.
Outcome<KvMigrated> migrate(const KvPlaces& places, const ClusterPeer& to, Progress& progress);

// The text for standard output. exit_failed: some were not moved that could have been.
Outcome<std::string> run_migration(const KvOptions& options);

}  // namespace exa::cli
