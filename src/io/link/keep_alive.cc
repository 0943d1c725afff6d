#include "io/link/keep_alive.h"

#include <algorithm>

namespace exa::io::link {

namespace {

constexpr unsigned pings_unanswered_max = 2;

}  // namespace

KeepAlive::KeepAlive(const LinkConfig& config, bool is_acceptor, TimePoint now)
    : ping_interval_(config.ping_interval),
      idle_after_(is_acceptor ? 3 * config.idle_timeout : config.idle_timeout),
      look_interval_(std::min(config.ping_interval, config.idle_timeout)),
      next_look_(now + look_interval_),
      heard_(now),
      busy_(now) {}

KeepAlive::Status KeepAlive::handle_timeout(TimePoint now, bool has_streams) {
    if (now < next_look_) return Status::alive;
    next_look_ = now + look_interval_;
    if (has_streams) {
        busy_ = now;
    } else if (now - busy_ >= idle_after_) {
        return Status::idle;
    } else if (heard_ >= synced_) {
        pings_unanswered_ = 0;
        return Status::alive;
    }
    if (now - heard_ < ping_interval_) return Status::alive;
    if (pings_unanswered_ >= pings_unanswered_max) return Status::silent;
    ++pings_unanswered_;
    return Status::ping;
}

}  // namespace exa::io::link
