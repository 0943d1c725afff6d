// KvPlaces: which segments a session, a replica or a request has, and on which peers of the cluster they are.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "exaserve/arguments.h"
#include "exaserve/cluster_client.h"
#include "exaserve/failure.h"
#include "exaserve/table.h"

namespace exa::cli {

struct KvPlace {
    const ClusterPeer* peer = nullptr;
    bool memory = false;
    bool disk = false;
    bool is_value = false;
};

struct KvPlaces {
    std::vector<std::string> keys;                      // as asked for
    std::map<std::string, std::vector<KvPlace>> where;  // by key; without those that are nowhere
    std::vector<std::string> silent;                    // names of peers that did not answer

    bool has_value() const;
    bool on_disk(const std::string& key, const ClusterPeer& peer) const;
    // One that can give it; null: none can.
    const ClusterPeer* holder(const std::string& key) const;
};

// The keys that the options name, by a key, a session, a replica, or a request: in their order, asked of the peers that
// know. exit_usage, exit_refused: of no peer.
Outcome<std::vector<std::string>> find_keys(const ClusterClient& cluster, const KvOptions& options);

// Asks every peer that is alive.
KvPlaces find_places(const ClusterClient& cluster, std::vector<std::string> keys);

// Which of the keys that peer has on disk. exit_unreachable, exit_refused.
Outcome<std::vector<std::string>> keys_on_disk(const ClusterPeer& peer, const std::vector<std::string>& keys);

std::string places_json(const KvPlaces& places);
std::string places_text(const KvPlaces& places, Style style);

}  // namespace exa::cli
