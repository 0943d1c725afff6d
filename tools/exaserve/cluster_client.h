// ClusterClient: the peers of a cluster as one of them sees it, and the admin API of each.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "exaserve/admin_client.h"
#include "exaserve/arguments.h"
#include "exaserve/failure.h"

namespace exa::cli {

struct ClusterPeer {
    std::string id;
    std::string name;
    std::string liveness;  // "alive", "suspect", "dead", "left", "lost"
    AdminClient client;    // at the door that it advertises

    bool is_alive() const { return liveness == "alive" || liveness == "suspect"; }
};

class ClusterClient {
  public:
    // Asks the target's peer who is there. The others are asked as it is: with its scheme, admin key and certificates.
    static Outcome<ClusterClient> open(const Target& target);

    // By name.
    const std::vector<ClusterPeer>& peers() const { return peers_; }
    std::vector<const ClusterPeer*> alive() const;
    const ClusterPeer& self() const;
    // By id or name, of those that are alive. exit_usage: there is none; the message names those there are.
    Outcome<const ClusterPeer*> find(std::string_view id_or_name) const;
    // As the peer at the target sees it now; empty when it is not there.
    Outcome<std::string> liveness_of(std::string_view id) const;

  private:
    ClusterClient(AdminClient entry, std::string self, std::vector<ClusterPeer> peers)
        : entry_(std::move(entry)), self_(std::move(self)), peers_(std::move(peers)) {}

    AdminClient entry_;
    std::string self_;  // id of the peer at the target
    std::vector<ClusterPeer> peers_;
};

}  // namespace exa::cli
