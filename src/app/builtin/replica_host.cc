#include "app/builtin/replica_host.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

#include "engine/errc.h"

namespace exa::app::builtin {

namespace {

// How often the percentiles of a load report are looked at.
constexpr Duration tell_interval = std::chrono::milliseconds(250);

engine::LimitConfig limit_config(const wire::ReplicaRecord& limits, const HostConfig& config) {
    engine::LimitConfig limit;
    limit.limit_max = std::max<std::uint32_t>(limits.in_flight_limit, 1);
    limit.between_tokens = config.between_tokens;
    return limit;
}

std::uint16_t to_u16(std::uint32_t count) {
    return static_cast<std::uint16_t>(std::min<std::uint32_t>(count, std::numeric_limits<std::uint16_t>::max()));
}

std::uint16_t to_ms(std::optional<Duration> time) {
    if (!time) return 0;
    // 0 is unknown.
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(*time).count();
    return static_cast<std::uint16_t>(std::clamp<std::int64_t>(ms, 1, std::numeric_limits<std::uint16_t>::max()));
}

}  // namespace

ReplicaHost::ReplicaHost(std::unique_ptr<engine::Replica> replica, const wire::ReplicaRecord& limits,
                         const HostConfig& config, Clock clock)
    : id_(limits.id),
      abilities_(replica->abilities()),
      context_tokens_(limits.context_tokens),
      clock_(std::move(clock)),
      limiter_(std::make_shared<ConcurrencyLimiter>(engine::AdaptiveLimit(limit_config(limits, config)).limit(),
                                                    config.queue, clock_)),
      limit_(limit_config(limits, config)),
      replica_(std::move(replica)) {
    if (engine::KvPort* port = replica_->kv_port(); port != nullptr && config.kv)
        kv_.emplace(id_, *port, config.kv, [this] { notify(); });
    thread_ = std::jthread([this](std::stop_token stopping) { run(std::move(stopping)); });
}

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
    if (kv_) kv_->close();
    limiter_->close();
    running_.clear();
}

Result<engine::WaitTicket> ReplicaHost::wait_for_permit(engine::WaitTerms terms, Duration wait,
                                                        ConcurrencyLimiter::Handler handler) {
    terms.deadline = clock_() + wait;
    EXA_TRY(const engine::WaitTicket ticket, limiter_->wait(std::move(terms), std::move(handler)));
    notify();
    return ticket;
}

void ReplicaHost::notify() {
    {
        const std::lock_guard lock(inbox_mutex_);
        has_news_ = true;
    }
    inbox_filled_.notify_one();
}

Result<engine::RequestId> ReplicaHost::submit(engine::GenerateRequest request, Sink sink) {
    EXA_TRY(check_length(request));
    EXA_TRY(Permit permit, take_permit());
    return submit(std::move(request), std::move(sink), std::move(permit));
}

Result<engine::RequestId> ReplicaHost::submit(engine::GenerateRequest request, Sink sink, Permit permit) {
    EXA_TRY(check_length(request));
    const engine::RequestId id{next_request_.fetch_add(1, std::memory_order_relaxed)};
    {
        const std::lock_guard lock(inbox_mutex_);
        if (stopped_) return error(engine::errc::busy, "the replica stops");
        submissions_.push_back({id, std::move(request), std::move(sink), std::move(permit), clock_()});
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
    const ConcurrencyLimiter::Counts permits = limiter_->counts();
    report.in_flight = permits.taken;
    report.in_flight_limit = to_u16(permits.limit);
    report.queued = to_u16(permits.waiting);
    report.queued_tokens = queued_tokens_.load(std::memory_order_relaxed);
    report.kv_used_permille = kv_used_permille_.load(std::memory_order_relaxed);
    report.ttft_p99_ms = ttft_p99_ms_.load(std::memory_order_relaxed);
    report.tbt_p99_ms = tbt_p99_ms_.load(std::memory_order_relaxed);
    return report;
}

void ReplicaHost::run(std::stop_token stopping) {
    while (!stopping.stop_requested()) {
        take_inbox();
        limiter_->expire();
        const TimePoint began = clock_();
        if (kv_) kv_->before_step(began);
        const bool worked = replica_->step(began);
        const Duration took = clock_() - began;
        deliver_events();
        if (kv_ && worked) kv_->after_step(took);
        adapt(clock_());
        if (worked) continue;
        const TimePoint next = std::min(replica_->next_step(), limiter_->next_deadline());
        const auto filled = [this] { return !submissions_.empty() || !cancellations_.empty() || has_news_; };
        std::unique_lock lock(inbox_mutex_);
        if (next == time_never)
            inbox_filled_.wait(lock, stopping, filled);
        else
            inbox_filled_.wait_for(lock, stopping, next - clock_(), filled);
        has_news_ = false;
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
        running_.emplace(id, Running{std::move(submission.sink), std::move(submission.permit), submission.submitted});
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
    const TimePoint now = clock_();
    const bool beside_prompt = replica_->load().step_prompt_tokens > 0;
    for (auto& [id, events] : batches) {
        const auto found = running_.find(id);
        if (found == running_.end()) continue;
        measure(found->second, events, now, beside_prompt);
        const bool ended = events.back().finish.has_value();
        found->second.sink(std::move(events));
        if (ended) running_.erase(found);
    }
}

void ReplicaHost::measure(Running& running, const std::vector<engine::TokenEvent>& events, TimePoint now,
                          bool beside_prompt) {
    const auto tokens = std::ranges::count_if(events, &engine::TokenEvent::has_token);
    if (tokens == 0) return;
    if (running.last_token) {
        const Duration between = (now - *running.last_token) / tokens;
        between_tokens_.add(now, between);
        limit_.handle_token(now, between, limiter_->counts().taken, beside_prompt);
    } else {
        to_first_token_.add(now, now - running.submitted);
    }
    running.last_token = now;
}

void ReplicaHost::adapt(TimePoint now) {
    const engine::ReplicaLoad load = replica_->load();
    queued_tokens_.store(load.queued_tokens, std::memory_order_relaxed);
    kv_used_permille_.store(load.kv_used_permille, std::memory_order_relaxed);
    if (std::exchange(preemptions_, load.preemptions) != load.preemptions) limit_.handle_preemption(now);
    limiter_->set_limit(limit_.limit());
    if (now - told_ < tell_interval) return;
    told_ = now;
    ttft_p99_ms_.store(to_ms(to_first_token_.percentile(now, 990)), std::memory_order_relaxed);
    tbt_p99_ms_.store(to_ms(between_tokens_.percentile(now, 990)), std::memory_order_relaxed);
}

void ReplicaHost::cancel_all() {
    for (const auto& [id, running] : running_) replica_->cancel(id);
    deliver_events();
}

}  // namespace exa::app::builtin
