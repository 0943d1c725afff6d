// Breaker: a replica that fails several times in a row is left alone for a while; then one request probes it.
//
// closed -- failures in a row --> open -- time --> half open: one probe -- success --> closed
//                                   ^---- failure, twice the time -----+
#pragma once

#include <cstdint>

#include "base/time.h"
#include "router/config.h"

namespace exa::router {

class Breaker {
  public:
    // Closed, or open for long enough and no probe under way.
    bool allows(TimePoint now) const { return open_for_ == Duration::zero() || (!probing_ && now >= until_); }
    bool is_open() const { return open_for_ > Duration::zero(); }

    // A request was sent. True when it is the probe; whoever holds it must end it with one of the three below.
    bool start();

    void succeed();
    // The first byte of an answer: enough for a probe, but no success yet, or a replica that dies in the middle of
    // every stream would never open it.
    void answer() {
        if (is_open()) succeed();
    }
    void fail(TimePoint now, const Config& config);
    // The end said nothing about the replica (busy, the client left).
    void release(bool probe);

  private:
    std::uint32_t failures_ = 0;  // in a row
    bool probing_ = false;
    Duration open_for_{0};  // 0: closed
    TimePoint until_{};
};

}  // namespace exa::router
