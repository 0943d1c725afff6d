// ReplicaHost: one replica, the thread that owns it, and what the threads of the data plane may call.
//
// The in-flight limit and the context length are enforced at once (the limit is the receiver's own), so a
// caller learns in the same call whether to look elsewhere, or to wait for a permit. Events of one engine step reach a
// request's sink in one call.
//
// The limit moves below the record's, as times between tokens ask for it (engine/adaptive_limit.h).
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "app/builtin/concurrency_limiter.h"
#include "app/builtin/kv_restore.h"
#include "base/result.h"
#include "engine/adaptive_limit.h"
#include "engine/admission_queue.h"
#include "engine/recent_times.h"
#include "engine/replica.h"
#include "wire/records.h"

namespace exa::app::builtin {

struct HostConfig {
    // As in engine::LimitConfig; the record has the limit's maximum.
    Duration between_tokens{0};
    engine::QueueConfig queue{};
    std::shared_ptr<kv::KvService> kv{};  // of a replica with a KV port; null: its KV stays with it
};

class ReplicaHost {
  public:
    // Called on the replica's thread with the events of one step, in order; the last of a request carries its finish.
    // It must not block: post to the executor that waits.
    using Sink = std::function<void(std::vector<engine::TokenEvent>)>;
    using Clock = std::function<TimePoint()>;

    // `limits` gives the replica's id, in-flight limit and context length. `clock` is thread-safe.
    ReplicaHost(std::unique_ptr<engine::Replica> replica, const wire::ReplicaRecord& limits, const HostConfig& config,
                Clock clock);
    ReplicaHost(const ReplicaHost&) = delete;
    ReplicaHost& operator=(const ReplicaHost&) = delete;
    ~ReplicaHost();

    // Ends running requests with FinishReason::cancelled, and waits for a permit as busy; joins the thread. From then
    // on submit() and wait_for_permit() answer busy, and no sink is called or kept. From one thread; idempotent.
    void stop();

    ReplicaId id() const { return id_; }
    engine::Abilities abilities() const { return abilities_; }

    // Thread-safe. engine::errc::busy when none is free.
    Result<Permit> take_permit() { return limiter_->take(); }
    // Thread-safe; as ConcurrencyLimiter::wait(), for so long at most.
    Result<engine::WaitTicket> wait_for_permit(engine::WaitTerms terms, Duration wait,
                                               ConcurrencyLimiter::Handler handler);
    void leave_queue(engine::WaitTicket ticket) { limiter_->leave(ticket); }
    // Thread-safe. engine::errc::prompt_too_long.
    Result<void> check_length(const engine::GenerateRequest& request) const;

    // Thread-safe. engine::errc::busy or prompt_too_long; then the sink is never called. Otherwise it is called until a
    // finish.
    Result<engine::RequestId> submit(engine::GenerateRequest request, Sink sink);
    // In a permit that the caller has taken, and in which no other request runs; the host holds it until the finish.
    Result<engine::RequestId> submit(engine::GenerateRequest request, Sink sink, Permit permit);

    // Thread-safe; the pages are free before the replica's next step. The sink hears FinishReason::cancelled unless the
    // request has ended already.
    void cancel(engine::RequestId id);

    // Thread-safe; as of the last step, counts and limit of permits as of now.
    wire::LoadReport load() const;

  private:
    struct Submission {
        engine::RequestId id;
        engine::GenerateRequest request;
        Sink sink;
        Permit permit;
        TimePoint submitted;
    };
    struct Running {
        Sink sink;
        Permit permit;
        TimePoint submitted;
        std::optional<TimePoint> last_token{};
    };

    void run(std::stop_token stopping);
    void notify();
    void take_inbox();
    void deliver_events();
    void measure(Running& running, const std::vector<engine::TokenEvent>& events, TimePoint now, bool beside_prompt);
    void adapt(TimePoint now);
    void cancel_all();

    const ReplicaId id_;
    const engine::Abilities abilities_;
    const std::uint32_t context_tokens_;
    const Clock clock_;
    const std::shared_ptr<ConcurrencyLimiter> limiter_;

    std::atomic<std::uint64_t> next_request_ = 1;
    std::atomic<std::uint32_t> queued_tokens_ = 0;
    std::atomic<std::uint16_t> kv_used_permille_ = 0;
    std::atomic<std::uint16_t> ttft_p99_ms_ = 0;
    std::atomic<std::uint16_t> tbt_p99_ms_ = 0;

    std::mutex inbox_mutex_;
    std::condition_variable_any inbox_filled_;
    std::vector<Submission> submissions_;
    std::vector<engine::RequestId> cancellations_;
    bool has_news_ = false;  // somebody waits for a permit, or KV has come
    bool stopped_ = false;

    // Owned by the thread.
    engine::AdaptiveLimit limit_;
    engine::RecentTimes to_first_token_;
    engine::RecentTimes between_tokens_;
    TimePoint told_{};  // when the two were looked at last
    std::uint64_t preemptions_ = 0;
    std::unique_ptr<engine::Replica> replica_;
    std::map<engine::RequestId, Running> running_;
    std::optional<KvRestore> kv_;

    std::jthread thread_;
};

}  // namespace exa::app::builtin
