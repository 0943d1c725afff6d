#include "app/loadgen/worker.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <charconv>
#include <exception>

#include "io/errc.h"

namespace exa::app::loadgen {

namespace asio = boost::asio;
using exa::loadgen::Failure;

namespace {

// How late a timeout may be noticed.
constexpr std::chrono::milliseconds watch_interval{20};
// Clients of a closed loop would ask a target that is gone as fast as it refuses.
constexpr std::chrono::milliseconds refused_pause{100};
// Conversations of an open loop between turns: beyond, the one that waits longest is dropped.
constexpr std::size_t parked_max = 100'000;
constexpr std::uint32_t retry_after_ms_max = 60'000;

std::optional<std::uint32_t> number_of(std::optional<std::string_view> text) {
    std::uint32_t value = 0;
    if (!text) return std::nullopt;
    const auto [end, code] = std::from_chars(text->data(), text->data() + text->size(), value);
    if (code != std::errc{} || end != text->data() + text->size()) return std::nullopt;
    return value;
}

std::optional<std::uint32_t> retry_after_ms(const io::http::HttpHeaders& headers) {
    if (const auto ms = number_of(headers.find("retry-after-ms"))) return std::min(*ms, retry_after_ms_max);
    if (const auto seconds = number_of(headers.find("retry-after")))
        return std::min(*seconds, retry_after_ms_max / 1000) * 1000;
    return std::nullopt;
}

exa::loadgen::Recorder make_recorder(const LoadPlan& plan, const exa::loadgen::Config& config) {
    return {config.slo, plan.start, plan.start + config.warmup, static_cast<std::uint32_t>(plan.targets.size())};
}

}  // namespace

class LoadWorker::Sink final : public io::http::ResponseSink {
  public:
    Sink(exa::loadgen::Call& call, const io::clock::SystemClock& clock) : call_(call), clock_(clock) {}

    void on_head(const io::http::ResponseHead& head) override {
        answered_ = true;
        call_.head(head.status);
        if (const auto token = head.headers.find("x-session-id")) session_ = std::string(*token);
        retry_after_ms_ = head.status == 503 ? retry_after_ms(head.headers) : std::nullopt;
    }
    bool on_body(std::string_view piece) override { return call_.piece(clock_.now(), piece); }

    void begin(bool last) {
        answered_ = false;
        last_ = last;
        retry_after_ms_.reset();
    }
    void give_up() { retry_after_ms_.reset(); }
    bool answered() const { return answered_; }
    bool wants_retry() const { return retry_after_ms_.has_value() && !last_; }
    Duration retry_after() const { return std::chrono::milliseconds(*retry_after_ms_); }
    const std::string& session() const { return session_; }

  private:
    exa::loadgen::Call& call_;
    const io::clock::SystemClock& clock_;
    bool answered_ = false;
    bool last_ = true;
    std::optional<std::uint32_t> retry_after_ms_;
    std::string session_;
};

LoadWorker::LoadWorker(const LoadPlan& plan, std::uint32_t number, const io::clock::SystemClock& clock)
    : plan_(plan),
      config_(exa::loadgen::share_of(plan.config, number)),
      clock_(clock),
      work_(context_.get_executor()),
      recorder_(make_recorder(plan, config_)),
      workload_(config_, plan.prompts, static_cast<std::uint32_t>(plan.targets.size()), number),
      pace_(context_),
      stop_at_(plan.start + config_.warmup + config_.duration) {
    const std::size_t limit = config_.is_open() ? config_.connections : config_.concurrency;
    for (const LoadTarget& target : plan.targets)
        connections_.push_back(std::make_unique<LoadConnections>(context_, target.endpoint, clock, limit));
    if (config_.arrivals == exa::loadgen::ArrivalKind::trace)
        arrivals_.emplace(plan.trace, number, config_.threads, config_.trace_speed, plan.start);
    else if (config_.is_open())
        arrivals_.emplace(config_.arrivals, config_.rate, plan.start, config_.seed + number + 1);
}

void LoadWorker::run() {
    spawn(watch());
    if (config_.is_open()) {
        spawn(dispatch());
    } else {
        for (std::uint32_t i = 0; i < config_.concurrency; ++i) spawn(client());
    }
    context_.run();
}

void LoadWorker::spawn(io::Awaitable<void> work) {
    ++tasks_;
    asio::co_spawn(context_, std::move(work), [this](std::exception_ptr failure) {
        // Only memory can run out here.
        if (failure) std::rethrow_exception(failure);
        --tasks_;
    });
}

void LoadWorker::release() {
    asio::post(context_, [this] { work_.reset(); });
}

void LoadWorker::stop(bool at_once) {
    asio::post(context_, [this, at_once] {
        interrupted_ |= at_once;
        halted_ = true;
        stop_starting();
        if (at_once) end_at_once();
    });
}

void LoadWorker::set_rate(double rate) {
    asio::post(context_, [this, rate] {
        paused_ = rate <= 0;
        if (!paused_ && arrivals_) arrivals_->set_rate(rate, clock_.now());
        pace_.cancel();
    });
}

void LoadWorker::with_recorder(std::function<void(exa::loadgen::Recorder&, std::uint64_t)> task) {
    asio::post(context_, [this, task = std::move(task)] { task(recorder_, overdue()); });
}

std::uint64_t LoadWorker::overdue() const {
    const TimePoint due_before = clock_.now() - config_.slo.ttft;
    return static_cast<std::uint64_t>(std::ranges::count_if(
        calls_, [&](const exa::loadgen::Call* call) { return !call->has_token() && call->intended() < due_before; }));
}

bool LoadWorker::has_requests() const {
    return config_.requests == 0 || started_ < config_.requests;
}

void LoadWorker::stop_starting() {
    if (stopped_) return;
    stopped_ = true;
    recorder_.close(std::min(clock_.now(), stop_at_));
    pace_.cancel();
    for (asio::steady_timer* sleeper : sleepers_) sleeper->cancel();
}

void LoadWorker::end_at_once() {
    closed_ = true;
    for (asio::steady_timer* sleeper : sleepers_) sleeper->cancel();
    for (const auto& connections : connections_) connections->close();
}

// Timeouts, the end of the time, and the end of the grace behind it.
io::Awaitable<void> LoadWorker::watch() {
    while (tasks_ > 1) {
        asio::steady_timer timer(context_, watch_interval);
        co_await timer.async_wait(io::as_result);
        const TimePoint now = clock_.now();
        for (const auto& connections : connections_) connections->check(io::http::ClientConnection::Clock::now());
        if (now >= stop_at_) stop_starting();
        if (stopped_ && now >= std::min(recorder_.end(), stop_at_) + config_.grace && !closed_) end_at_once();
    }
    // One that ran out of requests by itself ended with the last of them.
    if (!stopped_) recorder_.close(last_done_);
    for (const auto& connections : connections_) connections->close_idle();
    counters_.done = true;
}

io::Awaitable<void> LoadWorker::client() {
    while (!stopped_ && has_requests()) {
        exa::loadgen::Conversation conversation = workload_.begin();
        while (!stopped_ && has_requests()) {
            ++started_;
            ++counters_.in_flight;
            const bool goes_on = co_await turn(conversation, clock_.now(), std::nullopt);
            --counters_.in_flight;
            if (!goes_on) break;
            const Duration pause = workload_.think();
            if (pause > Duration::zero()) co_await sleep_until(clock_.now() + pause);
        }
    }
}

io::Awaitable<void> LoadWorker::dispatch() {
    // What was due before the end of the time is sent, even when this thread was late to wake.
    while (!halted_ && has_requests()) {
        const auto next = arrivals_->peek();
        if (!next || next->due >= stop_at_ || (paused_ && stopped_)) break;
        if (paused_ || next->due > clock_.now()) {
            pace_.expires_at(io::clock::SystemClock::to_steady(paused_ ? time_never : next->due));
            co_await pace_.async_wait(io::as_result);
            continue;
        }
        arrivals_->pop();
        ++started_;
        if (counters_.in_flight >= config_.in_flight_max) {
            refuse(next->due);
        } else {
            ++counters_.in_flight;
            spawn(arrive(*next));
        }
    }
}

// Never sent, so that neither memory nor descriptors grow with the backlog.
void LoadWorker::refuse(TimePoint due) {
    exa::loadgen::Call call(recorder_, due, static_cast<std::uint32_t>(plan_.targets.size()), config_.stream, false);
    fail(call, Failure::overflow, "more than --in-flight-max were under way");
}

exa::loadgen::Conversation LoadWorker::next_conversation(TimePoint now) {
    if (parked_.empty() || parked_.begin()->first > now) return workload_.begin();
    return std::move(parked_.extract(parked_.begin()).mapped());
}

io::Awaitable<void> LoadWorker::arrive(exa::loadgen::Arrival arrival) {
    exa::loadgen::Conversation conversation = next_conversation(clock_.now());
    const bool goes_on = co_await turn(conversation, arrival.due, arrival.lengths);
    --counters_.in_flight;
    if (!goes_on || stopped_) co_return;
    parked_.emplace(clock_.now() + workload_.think(), std::move(conversation));
    if (parked_.size() > parked_max) parked_.erase(parked_.begin());
}

io::Awaitable<bool> LoadWorker::turn(exa::loadgen::Conversation& conversation, TimePoint due,
                                     std::optional<exa::loadgen::Lengths> lengths) {
    const exa::loadgen::Request request = workload_.ask(conversation, lengths);
    const std::string bytes = bytes_of(request);
    exa::loadgen::Call call(recorder_, due, request.target, config_.stream, request.keeps_text);
    Sink sink(call, clock_);
    calls_.insert(&call);
    for (std::uint32_t retries = config_.retries;; --retries) {
        sink.begin(retries == 0);
        co_await attempt(call, sink, request.target, bytes);
        if (!sink.wants_retry()) break;
        recorder_.retried();
        const TimePoint again = clock_.now() + sink.retry_after();
        while (!closed_ && clock_.now() < again) co_await sleep_until(again);
        if (!closed_) continue;
        fail(call, Failure::unfinished, "the run ended");
        break;
    }
    calls_.erase(&call);
    last_done_ = clock_.now();
    const bool vain = call.failure() == Failure::refused || call.failure() == Failure::unreachable;
    if (vain && !config_.is_open()) co_await sleep_until(clock_.now() + refused_pause);
    if (!call.ok() || closed_) co_return false;
    workload_.answered(conversation, call.text(), sink.session());
    co_return !conversation.is_over();
}

std::string LoadWorker::bytes_of(const exa::loadgen::Request& request) const {
    const std::string& head = plan_.targets[request.target].head;
    std::string bytes;
    bytes.reserve(head.size() + request.session.size() + request.body.size() + 64);
    bytes += head;
    if (!request.session.empty()) {
        bytes += "x-session-id: ";
        bytes += request.session;
        bytes += "\r\n";
    }
    bytes += "content-length: ";
    bytes += std::to_string(request.body.size());
    bytes += "\r\n\r\n";
    bytes += request.body;
    return bytes;
}

io::Awaitable<void> LoadWorker::attempt(exa::loadgen::Call& call, Sink& sink, std::uint32_t target,
                                        const std::string& bytes) {
    LoadConnections& connections = *connections_[target];
    auto taken = co_await connections.take(config_.timeouts.connect);
    if (taken.connection == nullptr) {
        fail(call, taken.failure, taken.message);
        co_return;
    }
    const auto done =
        co_await taken.connection->exchange(bytes, sink, config_.timeouts.first_byte, config_.timeouts.idle);
    connections.hand_back(std::move(taken.connection));
    if (done) {
        if (sink.wants_retry()) co_return;
        call.end(clock_.now());
        ++(call.ok() ? counters_.succeeded : counters_.failed);
        co_return;
    }
    sink.give_up();
    const std::error_code code = done.error().code;
    Failure failure = Failure::reset;
    if (code == io::errc::timed_out)
        failure = sink.answered() ? Failure::idle_timeout : Failure::first_byte_timeout;
    else if (code == io::errc::malformed)
        failure = Failure::malformed;
    fail(call, failure, done.error().message());
}

void LoadWorker::fail(exa::loadgen::Call& call, Failure failure, std::string_view message) {
    if (closed_ && interrupted_) {
        call.cut_off();
        return;
    }
    ++counters_.failed;
    call.fail(clock_.now(), closed_ ? Failure::unfinished : failure, message);
}

io::Awaitable<void> LoadWorker::sleep_until(TimePoint time) {
    if (closed_) co_return;
    asio::steady_timer timer(context_, io::clock::SystemClock::to_steady(time));
    sleepers_.insert(&timer);
    co_await timer.async_wait(io::as_result);
    sleepers_.erase(&timer);
}

}  // namespace exa::app::loadgen
