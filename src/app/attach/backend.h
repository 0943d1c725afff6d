// AttachBackend: a server that runs already, elsewhere or on this machine, as one replica of this peer. The request is
// passed on as the client wrote it, and the answer as the server did.
//
// Its answers cannot go on elsewhere: what it emitted are bytes, not tokens that another replica would continue.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "app/attach/failure_reporter.h"
#include "app/attach/server.h"
#include "app/replica/backend.h"
#include "base/log.h"
#include "io/http/upstream.h"

namespace exa::app::attach {

class AttachBackend final : public replica::Backend {
  public:
    // `record` gives the replica's id and its limit. `log` outlives the backend and its replies.
    AttachBackend(const wire::ReplicaRecord& record, AttachServer server, Duration idle_timeout, Log& log);

    std::shared_ptr<replica::ReplyReader> open(const wire::Open& open, const replica::ReplyContext& context) override;
    wire::LoadReport load() const override;
    // The server does not answer any more: requests that wait for its first byte end, and go elsewhere. From any
    // thread.
    void drop_unanswered();
    void stop() override;

    const AttachServer& server() const { return server_; }

  private:
    // What stop() has to reach.
    struct ThreadPool {
        boost::asio::any_io_executor executor;
        std::weak_ptr<io::http::UpstreamPool> pool;
    };

    // Of the thread that calls; null behind stop().
    std::shared_ptr<io::http::UpstreamPool> pool(const replica::ReplyContext& context);

    const ReplicaId id_;
    const std::uint32_t in_flight_limit_;
    const AttachServer server_;
    const Duration idle_timeout_;
    const std::shared_ptr<FailureReporter> failures_;
    const std::shared_ptr<std::atomic<std::uint32_t>> in_flight_ = std::make_shared<std::atomic<std::uint32_t>>(0);

    std::mutex mutex_;
    std::vector<ThreadPool> pools_;
    std::atomic<bool> stopped_ = false;  // changed with the mutex held
};

}  // namespace exa::app::attach
