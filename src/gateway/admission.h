// Admission: the permits of one replica. How many requests it runs at once, how many permits are taken, and which
// requests wait for one.
//
// A released permit goes to the next in the queue before any newcomer can take it, so nobody overtakes those that wait.
// The limit is the replica's own, and enforced (Q4, docs/simulator.md): it never grants more permits than that.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/mutant.h"
#include "base/result.h"
#include "base/time.h"
#include "engine/admission_queue.h"

namespace exa::gateway {

class Admission {
  public:
    Admission(std::uint32_t limit, const engine::QueueConfig& queue, Mutant mutant = Mutant::none)
        : limit_(limit), mutant_(mutant), queue_(queue) {}

    std::uint32_t limit() const { return limit_; }
    std::uint32_t taken() const { return taken_; }
    std::uint32_t waiting() const { return static_cast<std::uint32_t>(queue_.size()); }
    TimePoint next_deadline() const { return queue_.next_deadline(); }

    // Takes a permit. False: all are taken, or others wait for one.
    bool try_acquire();
    // Joins the queue; granted() may name the ticket at once. engine::errc::busy when the queue is full, and nothing
    // changed.
    Result<engine::AdmissionQueue::Pushed> wait(TimePoint now, engine::WaitTerms terms);
    // False: the ticket does not wait any more.
    bool leave(engine::WaitTicket ticket) { return queue_.erase(ticket); }
    void release();
    // A lower limit takes no permit back.
    void set_limit(std::uint32_t limit) { limit_ = limit; }

    // Gives a free permit to the next in the queue and says to whom. Call it after wait, release and set_limit until it
    // gives none.
    std::optional<engine::WaitTicket> granted(TimePoint now);
    // Who has waited past the deadline and is out of the queue.
    std::vector<engine::WaitTicket> expire(TimePoint now) { return queue_.expire(now); }

  private:
    std::uint32_t limit_;
    const Mutant mutant_;
    std::uint32_t taken_ = 0;
    std::uint32_t lost_ = 0;  // by Mutant::permits_leak
    engine::AdmissionQueue queue_;
};

}  // namespace exa::gateway
