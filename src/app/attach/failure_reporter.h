// FailureReporter: tells the log when an attached server begins to fail requests, and when it answers them again.
//
// The probe sees a server that is away; this one sees a server whose health looks well while its answers do not come.
// Lines are about changes, not about requests, and at least failure_report_interval apart: a server that fails every
// other request gets one every ten seconds.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "base/ids.h"
#include "base/log.h"

namespace exa::app::attach {

inline constexpr std::chrono::seconds failure_report_interval{10};

// Thread-safe; shared by all answers of one server.
class FailureReporter {
  public:
    using Clock = std::chrono::steady_clock;

    // `url` as the operator wrote it. `log` outlives it.
    FailureReporter(ReplicaId replica, std::string url, Log& log)
        : replica_(replica), url_(std::move(url)), log_(log) {}

    // The server has answered a request, be it with a client's mistake or that it is busy.
    void handle_answer(Clock::time_point now);
    // It has not: `why` holds nothing of the request or of what the server said to it.
    void handle_failure(Clock::time_point now, const std::string& why);

  private:
    // Whether a line may be written; it counts as written then.
    bool may_tell(Clock::time_point now);

    const ReplicaId replica_;
    const std::string url_;
    Log& log_;
    std::atomic<bool> fails_ = false;  // as the log says
    std::mutex mutex_;
    std::uint64_t failures_ = 0;  // since the log last said that it answers
    std::optional<Clock::time_point> told_;
};

}  // namespace exa::app::attach
