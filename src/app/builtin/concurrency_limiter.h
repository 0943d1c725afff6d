// ConcurrencyLimiter: the permits of one replica (gateway/admission.h) for several threads. Handlers are called without
// a lock held, by the thread that released the permit.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "engine/admission_queue.h"
#include "gateway/admission.h"

namespace exa::app::builtin {

// Its holder may run one request in it after another; it is free again when the last copy is gone, also after the
// limiter's end.
using Permit = std::shared_ptr<const void>;

class ConcurrencyLimiter : public std::enable_shared_from_this<ConcurrencyLimiter> {
  public:
    using Clock = std::function<TimePoint()>;
    // A permit, or why there is none: engine::errc::deadline, or busy when the room was given to another or the limiter
    // closed. It must not block.
    using Handler = std::function<void(Result<Permit>)>;

    // `clock` is thread-safe.
    ConcurrencyLimiter(std::uint32_t limit, const engine::QueueConfig& queue, Clock clock);

    // engine::errc::busy when all are taken.
    Result<Permit> take();
    // Waits in the queue, if there is no permit at once. errc::busy when the queue is full or the limiter closed; then
    // the handler is never called, else once unless leave() comes first.
    Result<engine::WaitTicket> wait(engine::WaitTerms terms, Handler handler);
    void leave(engine::WaitTicket ticket);

    // More permits are given at once; fewer are none of those that are taken.
    void set_limit(std::uint32_t limit);
    // Ends waits past their deadline.
    void expire();
    TimePoint next_deadline() const;
    // All waits end, none begins; permits are given as before.
    void close();

    struct Counts {
        std::uint32_t limit = 0;
        std::uint32_t taken = 0;
        std::uint32_t waiting = 0;
    };
    Counts counts() const;

  private:
    using Answers = std::vector<std::pair<Handler, Result<Permit>>>;

    // With mutex_ held.
    Permit make_permit();
    void give_permits(Answers& answers);
    void answer(engine::WaitTicket ticket, Result<Permit> permit, Answers& answers);
    static void call(Answers& answers);
    void give_back();

    const Clock clock_;
    mutable std::mutex mutex_;
    exa::gateway::Admission admission_;
    bool closed_ = false;
    std::map<engine::WaitTicket, Handler> handlers_;
};

}  // namespace exa::app::builtin
