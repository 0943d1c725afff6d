// LocalReplicas: the replicas that this peer runs, shared by the control plane (which changes their state) and the data
// plane (which asks them to work).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "app/replica/backend.h"
#include "wire/records.h"

namespace exa::app::replica {

struct LocalReplica {
    // As advertised, except for its state, which is below.
    wire::ReplicaRecord record;
    std::shared_ptr<Backend> backend;
    std::atomic<wire::ReplicaState> state = wire::ReplicaState::created;
};

// Filled once, when the model is loaded. Thread-safe.
class LocalReplicas {
  public:
    using List = std::vector<std::shared_ptr<LocalReplica>>;

    // Null before publish() and for replicas of other peers.
    std::shared_ptr<LocalReplica> find(const ReplicaId& id) const;
    std::shared_ptr<const List> all() const { return list_.load(); }
    // Requests of links that any thread is answering, the last write of a reply included.
    std::atomic<std::uint32_t>& serving_now() { return serving_now_; }
    void publish(List list) { list_.store(std::make_shared<const List>(std::move(list))); }

  private:
    std::atomic<std::shared_ptr<const List>> list_ = std::make_shared<const List>();
    std::atomic<std::uint32_t> serving_now_ = 0;
};

}  // namespace exa::app::replica
