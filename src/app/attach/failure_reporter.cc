#include "app/attach/failure_reporter.h"

namespace exa::app::attach {

void FailureReporter::handle_answer(Clock::time_point now) {
    // Nearly always: one load, no lock.
    if (!fails_.load(std::memory_order_relaxed)) return;
    const std::lock_guard lock(mutex_);
    if (!fails_ || !may_tell(now)) return;
    fails_ = false;
    log_.info("attach", "the server answers requests again",
              {{"replica", to_string(replica_)}, {"url", url_}, {"failed", std::to_string(failures_)}});
    failures_ = 0;
}

void FailureReporter::handle_failure(Clock::time_point now, const std::string& why) {
    const std::lock_guard lock(mutex_);
    ++failures_;
    if (fails_ || !may_tell(now)) return;
    fails_ = true;
    log_.warn("attach", "requests to the server fail",
              {{"replica", to_string(replica_)}, {"url", url_}, {"error", why}});
}

bool FailureReporter::may_tell(Clock::time_point now) {
    if (told_ && now - *told_ < failure_report_interval) return false;
    told_ = now;
    return true;
}

}  // namespace exa::app::attach
