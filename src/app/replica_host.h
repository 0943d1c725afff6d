// ReplicaHost: one replica, the thread that owns it, and its door for the threads of the data plane.
//
// submit() enforces the in-flight limit and the context length at once (the receiver's own limit, DESIGN section 4), so
// a caller learns in the same turn whether to look elsewhere. Events of one engine step reach a request's sink in one
// call.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/result.h"
#include "engine/replica.h"
#include "wire/records.h"

namespace exa::app {

class ReplicaHost {
  public:
    // Called on the replica's thread with the events of one step, in order; the last of a request carries its finish.
    // It must not block: post to the executor that waits.
    using Sink = std::function<void(std::vector<engine::TokenEvent>)>;
    using Clock = std::function<TimePoint()>;
    // One of the places that the in-flight limit allows. Its holder may run one request in it after another; it is free
    // again when the last copy is gone. Thread-safe, also behind the host's end.
    using Place = std::shared_ptr<const void>;

    // `limits` gives the replica's id, in-flight limit and context length.
    ReplicaHost(std::unique_ptr<engine::Replica> replica, const wire::ReplicaRecord& limits, Clock clock);
    ReplicaHost(const ReplicaHost&) = delete;
    ReplicaHost& operator=(const ReplicaHost&) = delete;
    ~ReplicaHost();

    // Ends running requests with FinishReason::cancelled and joins the thread. From then on submit() answers busy, and
    // no sink is called or kept. From one thread; idempotent.
    void stop();

    ReplicaId id() const { return id_; }
    engine::Abilities abilities() const { return abilities_; }

    // Thread-safe. engine::errc::busy when none is free.
    Result<Place> take_place();

    // Thread-safe. engine::errc::busy or prompt_too_long; then the sink is never called. Otherwise it is called until a
    // finish.
    Result<engine::RequestId> submit(engine::GenerateRequest request, Sink sink);
    // In a place that the caller has taken, and in which no other request runs; the host holds it until the finish.
    Result<engine::RequestId> submit(engine::GenerateRequest request, Sink sink, Place place);

    // Thread-safe; the pages are free before the replica's next step. The sink hears FinishReason::cancelled unless the
    // request has ended already.
    void cancel(engine::RequestId id);

    // Thread-safe; as of the last step, the in-flight count as of now.
    wire::LoadReport load() const;

  private:
    struct Submission {
        engine::RequestId id;
        engine::GenerateRequest request;
        Sink sink;
        Place place;
    };
    struct Running {
        Sink sink;
        Place place;
    };

    Result<void> check_length(const engine::GenerateRequest& request) const;
    void run(std::stop_token stopping);
    void take_inbox();
    void deliver_events();
    void cancel_all();

    const ReplicaId id_;
    const engine::Abilities abilities_;
    const std::uint32_t in_flight_limit_;
    const std::uint32_t context_tokens_;
    const Clock clock_;

    std::atomic<std::uint64_t> next_request_ = 1;
    const std::shared_ptr<std::atomic<std::uint32_t>> in_flight_ = std::make_shared<std::atomic<std::uint32_t>>(0);
    std::atomic<std::uint32_t> queued_tokens_ = 0;
    std::atomic<std::uint16_t> kv_used_permille_ = 0;

    std::mutex inbox_mutex_;
    std::condition_variable_any inbox_filled_;
    std::vector<Submission> submissions_;
    std::vector<engine::RequestId> cancellations_;
    bool stopped_ = false;

    // Owned by the thread.
    std::unique_ptr<engine::Replica> replica_;
    std::map<engine::RequestId, Running> running_;

    std::jthread thread_;
};

}  // namespace exa::app
