// DataPlane: one thread that serves clients and links, and everything it owns. Several share the ports (SO_REUSEPORT)
// and nothing else but the published views.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <future>
#include <memory>
#include <string>

#include "app/access/authorizer.h"
#include "app/gateway/access_log.h"
#include "app/gateway/http_gateway.h"
#include "app/gateway/ingress.h"
#include "app/replica/local_replicas.h"
#include "app/request_metrics.h"
#include "app/shared/shared_view.h"
#include "app/thread_metrics.h"
#include "base/log.h"
#include "base/result.h"
#include "io/http/server.h"
#include "io/link/config.h"
#include "router/config.h"

namespace exa::app {

// What all data-plane threads of a peer have in common. Outlives them.
struct DataPlaneShared {
    io::link::LinkIdentity identity;
    router::Config router;
    gateway::IngressConfig ingress;
    io::http::HttpConfig http;
    std::shared_ptr<io::http::BodyBudget> bodies;  // one for all threads
    std::shared_ptr<replica::LocalReplicas> replicas;
    const shared::SharedView& view;
    const router::SessionTokens& tokens;
    access::Authorizer& authorizer;
    const gateway::Cors& cors;
    const io::clock::SystemClock& clock;
    RequestMetrics& request_metrics;
    ThreadMetrics& stats;
    Log& log;
    Duration stream_coalesce{0};                      // of Coalescer
    bool reuse_port = false;                          // more than one thread
    io::link::LinkEncryption encryption;              // as it is at the start
    std::shared_ptr<const io::tls::TlsSettings> tls;  // of the gateway, as it is at the start; null: plain HTTP
    io::log::LineWriter* access_log = nullptr;        // null: none
    kv::KvReplicatorThread* kv = nullptr;             // null: this peer keeps no KV cache for others
    // Into the control strand; thread-safe.
    std::function<void(PeerId from, Bytes message)> on_sync;
    std::function<void(PeerId peer, Generation generation)> on_link_broken;
    gateway::GatewayDeps gateway;  // its `metrics` is the data plane's own
};

class DataPlane {
  public:
    // Nothing runs before run().
    DataPlane(const DataPlaneShared& shared, std::size_t thread);
    ~DataPlane();  // stops
    DataPlane(const DataPlane&) = delete;
    DataPlane& operator=(const DataPlane&) = delete;

    // Binds both listeners. io::errc::port_taken, address_unusable.
    Result<void> bind(Endpoint http, Endpoint link);
    // What was bound, with the real ports.
    Endpoint http_endpoint() const;
    Endpoint link_endpoint() const;

    // Starts the thread. A view must have been published.
    void run();
    // Ends the thread; connections are cut. set_keys(), set_tls() and set_limits() do nothing after it; the others must
    // not be called.
    void stop();

    // Thread-safe. What it gives goes away when every request that this gateway has taken so far is answered.
    std::future<std::weak_ptr<const void>> watch_in_flight();
    // After run(), thread-safe. Ready when the gateway has answered everything it was asked, or `deadline` has passed:
    // then it cuts, and the value is false.
    std::future<bool> drain_gateway(Duration deadline);
    // Thread-safe: what connections of clients are made with from now on. Of a gateway that has spoken HTTPS from the
    // start.
    void set_tls(std::shared_ptr<const io::tls::TlsSettings> tls);
    // Thread-safe: routes by `router`, and limits clients by `http` (HttpServer::set_limits), from now on.
    void set_limits(const router::Config& router, const io::http::HttpConfig& http);
    // Thread-safe: what links are made with from now on.
    void set_keys(std::shared_ptr<const LinkKeys> keys);
    // After run(), thread-safe. Ready when what was queued on links and a goodbye have left, within a second or so.
    std::future<void> close_links();

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace exa::app
