// KeepAlive: whether a link is still of use, and whether anybody is at its other end.
// A link is checked once per interval. With open streams, or after a sync, silence is answered by pings; two pings
// without a byte in return mean that the other side is gone. A link without streams is idle after a while; the acceptor
// waits three times as long as the dialler, so that an idle close and a new request do not cross.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "io/link/config.h"

namespace exa::io::link {

class KeepAlive {
  public:
    enum class Status : std::uint8_t { alive, ping, silent, idle };

    KeepAlive(const LinkConfig& config, bool is_acceptor, TimePoint now);

    // Bytes came.
    void note_heard(TimePoint now) {
        heard_ = now;
        pings_unanswered_ = 0;
    }
    // The last stream ended.
    void note_busy(TimePoint now) { busy_ = now; }
    // A sync was sent: a link that carries syncs is not idle, and silence after one is suspicious.
    void note_sync(TimePoint now) { busy_ = synced_ = now; }

    TimePoint next_timeout() const { return next_look_; }
    // To be called once next_timeout() has passed; before that the link is alive.
    Status handle_timeout(TimePoint now, bool has_streams);

  private:
    Duration ping_interval_;
    Duration idle_after_;
    Duration look_interval_;
    TimePoint next_look_;
    TimePoint heard_;
    TimePoint busy_;
    TimePoint synced_ = TimePoint::min();
    unsigned pings_unanswered_ = 0;
};

}  // namespace exa::io::link
