// Warm-up: from a loaded model to ready replicas.
//
// A replica is ready when real generations have come out of the gateway that the peer advertises, through the same
// HTTP, routing and engine that clients use. Until then it is warming, and it warms for as long as the door does not
// answer.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "app/builtin/model_loader.h"
#include "app/config/config.h"
#include "app/kv/service.h"
#include "app/replica/local_replicas.h"
#include "base/log.h"
#include "io/clock/system_clock.h"
#include "io/tls/settings.h"

namespace exa::app {

// What replicas need to keep KV outside themselves.
struct KvDeps {
    const Crypto& crypto;
    const Bytes& root_secret;
    std::shared_ptr<kv::KvService> service;  // null: it stays in them
};

// The replicas that `config` asks for, in state `warming`, each with its own KV memory and thread. `clock` and
// `kv.crypto` outlive them. errc::bad_model when the model gives no token for a prompt: it would warm for ever.
Result<replica::LocalReplicas::List> make_replicas(const config::PeerConfig& config, const builtin::LoadedModel& model,
                                                   PeerId peer, const io::clock::SystemClock& clock, const KvDeps& kv);

struct WarmUpConfig {
    std::string url;     // URL of the advertised HTTP address
    std::string secret;  // IngressConfig::warm_up_secret
    // Whom to trust of an HTTPS gateway, asked for each call.
    std::function<std::shared_ptr<const io::tls::TlsSettings>()> trust = nullptr;
    std::uint32_t generations = 3;
    std::chrono::milliseconds retry = std::chrono::milliseconds(500);
};

class WarmUp {
  public:
    // Starts a thread that warms one replica after another and calls `on_ready` (from that thread) for each.
    WarmUp(WarmUpConfig config, std::shared_ptr<const replica::LocalReplicas::List> replicas,
           std::function<void(ReplicaId)> on_ready, Log& log);
    // Gives up what is not ready yet and joins the thread.
    ~WarmUp();
    WarmUp(const WarmUp&) = delete;
    WarmUp& operator=(const WarmUp&) = delete;

  private:
    void run(const std::stop_token& stopping);
    Result<void> generate(const replica::LocalReplica& replica) const;

    const WarmUpConfig config_;
    const std::shared_ptr<const replica::LocalReplicas::List> replicas_;
    const std::function<void(ReplicaId)> on_ready_;
    Log& log_;
    std::jthread thread_;
};

}  // namespace exa::app
