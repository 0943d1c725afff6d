#include "node/publish_schedule.h"

#include <algorithm>
#include <chrono>

namespace exa::node {

namespace {

constexpr Duration period = std::chrono::milliseconds(20);
constexpr Duration period_unread = std::chrono::seconds(1);

}  // namespace

bool is_urgent(membership::EventKind kind) {
    using membership::EventKind;
    return kind != EventKind::joined && kind != EventKind::alive && kind != EventKind::updated &&
           kind != EventKind::forgotten;
}

std::optional<TimePoint> PublishSchedule::handle_change(TimePoint now, bool urgent, bool view_was_read) {
    const TimePoint due = urgent ? now : std::max(now, published_at_ + (view_was_read ? period : period_unread));
    // A plan that stands is kept unless this is urgent and that is not due yet.
    if (planned_ && (!urgent || *planned_ <= now)) return std::nullopt;
    planned_ = due;
    return due;
}

void PublishSchedule::handle_published(TimePoint now) {
    planned_.reset();
    published_at_ = now;
}

}  // namespace exa::node
