// KvRestore: brings KV of the peer's KV service to one replica that wants it, and offers the service what the replica
// has finished, on the replica's thread.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include "app/kv/service.h"
#include "base/ids.h"
#include "engine/kv_port.h"

namespace exa::app::builtin {

class KvRestore {
  public:
    // Segments given to the replica between two steps: copying them in holds up everybody's next token.
    static constexpr int deliveries_max = 8;

    // `replica` is whose port it is. `wake` is called from any thread when there is something for before_step(), and
    // never after close(). `port` outlives the restore.
    KvRestore(ReplicaId replica, engine::KvPort& port, std::shared_ptr<kv::KvService> service,
              std::function<void()> wake);
    ~KvRestore() { close(); }
    KvRestore(const KvRestore&) = delete;
    KvRestore& operator=(const KvRestore&) = delete;

    void before_step(TimePoint now);
    // Of a step that worked.
    void after_step(Duration took);

    // What is still being loaded is heard no more. Idempotent.
    void close();

  private:
    // Shared with loads under way, which may outlive the restore.
    struct Inbox {
        bool push(engine::RestoreId id, exa::kv::SealedSegment segment);
        bool take(std::pair<engine::RestoreId, exa::kv::SealedSegment>& arrival);

        std::mutex mutex;
        std::function<void()> wake;         // null once closed
        std::set<engine::RestoreId> waits;  // of which more is wanted
        std::deque<std::pair<engine::RestoreId, exa::kv::SealedSegment>> arrivals;
    };

    bool is_segment(const exa::kv::SegmentBuffer& sealed) const;

    const ReplicaId replica_;
    engine::KvPort& port_;
    const std::shared_ptr<kv::KvService> service_;
    const std::shared_ptr<Inbox> inbox_ = std::make_shared<Inbox>();
};

}  // namespace exa::app::builtin
