#include "app/replica_host.h"

#include <fmt/format.h>

#include <utility>

#include "engine/errc.h"

namespace exa::app {

ReplicaHost::ReplicaHost(std::unique_ptr<engine::Replica> replica, const wire::ReplicaRecord& limits, Clock clock)
    : id_(limits.id),
      abilities_(replica->abilities()),
      in_flight_limit_(limits.in_flight_limit),
      context_tokens_(limits.context_tokens),
      clock_(std::move(clock)),
      replica_(std::move(replica)),
      thread_([this](std::stop_token stopping) { run(std::move(stopping)); }) {}

ReplicaHost::~ReplicaHost() {
    stop();
}

void ReplicaHost::stop() {
    {
        const std::lock_guard lock(inbox_mutex_);
        if (std::exchange(stopped_, true)) return;
    }
    thread_.request_stop();
    thread_.join();
    running_.clear();
}

Result<ReplicaHost::Place> ReplicaHost::take_place() {
    std::uint32_t count = in_flight_->load(std::memory_order_relaxed);
    do {
        if (count >= in_flight_limit_) return error(engine::errc::busy, fmt::format("{} in flight", count));
    } while (!in_flight_->compare_exchange_weak(count, count + 1, std::memory_order_relaxed));
    return Place(in_flight_.get(), [counter = in_flight_](const void*) { counter->fetch_sub(1); });
}

Result<engine::RequestId> ReplicaHost::submit(engine::GenerateRequest request, Sink sink) {
    EXA_TRY(check_length(request));
    EXA_TRY(Place place, take_place());
    return submit(std::move(request), std::move(sink), std::move(place));
}

Result<engine::RequestId> ReplicaHost::submit(engine::GenerateRequest request, Sink sink, Place place) {
    EXA_TRY(check_length(request));
    const engine::RequestId id{next_request_.fetch_add(1, std::memory_order_relaxed)};
    {
        const std::lock_guard lock(inbox_mutex_);
        if (stopped_) return error(engine::errc::busy, "the replica stops");
        submissions_.push_back({id, std::move(request), std::move(sink), std::move(place)});
    }
    inbox_filled_.notify_one();
    return id;
}

Result<void> ReplicaHost::check_length(const engine::GenerateRequest& request) const {
    if (request.prompt.size() + request.max_tokens - request.resumed_tokens <= context_tokens_) return success();
    return error(engine::errc::prompt_too_long,
                 fmt::format("{} prompt tokens of {}", request.prompt.size(), context_tokens_));
}

void ReplicaHost::cancel(engine::RequestId id) {
    {
        const std::lock_guard lock(inbox_mutex_);
        cancellations_.push_back(id);
    }
    inbox_filled_.notify_one();
}

wire::LoadReport ReplicaHost::load() const {
    wire::LoadReport report;
    report.replica = id_;
    report.in_flight = in_flight_->load(std::memory_order_relaxed);
    report.queued_tokens = queued_tokens_.load(std::memory_order_relaxed);
    report.kv_used_permille = kv_used_permille_.load(std::memory_order_relaxed);
    return report;
}

void ReplicaHost::run(std::stop_token stopping) {
    while (!stopping.stop_requested()) {
        take_inbox();
        const bool worked = replica_->step(clock_());
        deliver_events();
        const engine::ReplicaLoad load = replica_->load();
        queued_tokens_.store(load.queued_tokens, std::memory_order_relaxed);
        kv_used_permille_.store(load.kv_used_permille, std::memory_order_relaxed);
        if (worked) continue;
        const TimePoint next = replica_->next_step();
        const auto filled = [this] { return !submissions_.empty() || !cancellations_.empty(); };
        std::unique_lock lock(inbox_mutex_);
        if (next == time_never)
            inbox_filled_.wait(lock, stopping, filled);
        else
            inbox_filled_.wait_for(lock, stopping, next - clock_(), filled);
    }
    take_inbox();
    cancel_all();
}

void ReplicaHost::take_inbox() {
    std::vector<Submission> submissions;
    std::vector<engine::RequestId> cancellations;
    {
        const std::lock_guard lock(inbox_mutex_);
        submissions.swap(submissions_);
        cancellations.swap(cancellations_);
    }
    for (Submission& submission : submissions) {
        const engine::RequestId id = submission.id;
        running_.emplace(id, Running{std::move(submission.sink), std::move(submission.place)});
        if (auto taken = replica_->submit(clock_(), id, std::move(submission.request)); !taken) {
            running_.at(id).sink(
                {engine::TokenEvent{.request = id, .finish = engine::FinishReason::failed, .has_token = false}});
            running_.erase(id);
        }
    }
    // The engine answers with the request's last event.
    for (const engine::RequestId id : cancellations) replica_->cancel(id);
}

void ReplicaHost::deliver_events() {
    std::map<engine::RequestId, std::vector<engine::TokenEvent>> batches;
    while (auto event = replica_->poll_event()) batches[event->request].push_back(std::move(*event));
    for (auto& [id, events] : batches) {
        const auto found = running_.find(id);
        if (found == running_.end()) continue;
        const bool ended = events.back().finish.has_value();
        found->second.sink(std::move(events));
        if (ended) running_.erase(found);
    }
}

void ReplicaHost::cancel_all() {
    for (const auto& [id, running] : running_) replica_->cancel(id);
    deliver_events();
}

}  // namespace exa::app
