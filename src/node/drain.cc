#include "node/drain.h"

#include <algorithm>

namespace exa::node {

TimePoint Drain::close_until() const {
    return std::max(deadline_, since_ + config_.close_time);
}

TimePoint Drain::next_timeout() const {
    switch (stage_) {
        case Stage::idle:
        case Stage::done:
            return time_never;
        case Stage::finishing:
        case Stage::giving_away:
            return deadline_;
        case Stage::moving:
            return deadline_ + config_.move_time;
        case Stage::closing:
            return close_until();
        case Stage::leaving:
            return since_ + config_.leave_time;
    }
    return time_never;
}

void Drain::start(TimePoint now, std::vector<DrainStep>& steps) {
    if (stage_ != Stage::idle) return;
    deadline_ = now + config_.limit;
    enter(Stage::finishing, now);
    steps.push_back(DrainStep::announce);
}

void Drain::handle_status(TimePoint now, const DrainStatus& status, std::vector<DrainStep>& steps) {
    const bool is_late = now >= next_timeout();
    switch (stage_) {
        case Stage::idle:
        case Stage::done:
            return;
        case Stage::finishing:
        case Stage::moving:
            if (status.serving || status.answering) {
                if (!is_late) return;
                if (stage_ == Stage::finishing) {
                    enter(Stage::moving, now);
                    steps.push_back(DrainStep::stop_replicas);
                    return;
                }
            }
            enter(Stage::closing, now);
            steps.push_back(DrainStep::close_gateway);
            return;
        case Stage::closing:
            if (status.gateway_open && !is_late) return;
            enter(Stage::giving_away, now);
            [[fallthrough]];
        case Stage::giving_away:
            if (status.holds_kv_alone) {
                if (now < deadline_) return;
                steps.push_back(DrainStep::lose_kv);
            }
            enter(Stage::leaving, now);
            steps.push_back(DrainStep::leave);
            return;
        case Stage::leaving:
            if (!status.left && !is_late) return;
            enter(Stage::done, now);
            steps.push_back(DrainStep::close_links);
            return;
    }
}

}  // namespace exa::node
