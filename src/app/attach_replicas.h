// The replicas of model.engine = attach: one a server, ready while that answers.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "app/attach/probe.h"
#include "app/config/config.h"
#include "app/replica/local_replicas.h"
#include "base/log.h"
#include "base/result.h"

namespace exa::app {

// One for each of attach.urls, in state `warming`. `log` outlives them. errc::usage: the file with their key.
Result<replica::LocalReplicas::List> make_attached_replicas(const config::PeerConfig& config, PeerId peer, Log& log);

// Starts to ask after each of them. `on_change` is called from any thread. All outlive the probes.
std::vector<std::unique_ptr<attach::AttachProbe>> probe_attached(
    const config::PeerConfig& config, const replica::LocalReplicas::List& replicas,
    const std::function<void(ReplicaId, bool up)>& on_change, Log& log);

}  // namespace exa::app
