// LoadWorker: one thread's share of a load test: its conversations, its connections, and what it recorded.
//
// Connections are shared by all conversations of the worker. A closed loop is a coroutine for each client; an open one
// is a coroutine that wakes when the next request is due, and one for each request.
#pragma once

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/loadgen/connections.h"
#include "app/loadgen/plan.h"
#include "base/time.h"
#include "io/async.h"
#include "io/clock/system_clock.h"
#include "loadgen/arrivals.h"
#include "loadgen/call.h"
#include "loadgen/recorder.h"
#include "loadgen/workload.h"

namespace exa::app::loadgen {

// Read by any thread while the worker runs.
struct LoadCounters {
    std::atomic<std::uint64_t> succeeded = 0;
    std::atomic<std::uint64_t> failed = 0;
    std::atomic<std::uint64_t> in_flight = 0;
    std::atomic<bool> done = false;  // nothing is in flight and nothing more will start
};

class LoadWorker {
  public:
    // The plan and the clock outlive the worker. `number`: below config.threads.
    LoadWorker(const LoadPlan& plan, std::uint32_t number, const io::clock::SystemClock& clock);
    LoadWorker(const LoadWorker&) = delete;
    LoadWorker& operator=(const LoadWorker&) = delete;

    // Does the work on the caller's thread, until release().
    void run();
    const LoadCounters& counters() const { return counters_; }

    // From any thread.
    // Starts nothing more. `at_once`: answers under way do not matter; else they get the configured grace.
    void stop(bool at_once);
    // Lets run() return once the work is done.
    void release();
    // Of an open loop, requests/s of this worker; 0 pauses it.
    void set_rate(double rate);
    // `task` is called on the worker's thread. `overdue` requests wait for their first token for longer than the
    // objective allows.
    void with_recorder(std::function<void(exa::loadgen::Recorder&, std::uint64_t overdue)> task);

    // Once run() has returned.
    const exa::loadgen::Recorder& recorder() const { return recorder_; }

  private:
    class Sink;

    // What runs.
    io::Awaitable<void> client();
    io::Awaitable<void> dispatch();
    io::Awaitable<void> arrive(exa::loadgen::Arrival arrival);
    io::Awaitable<void> watch();
    void spawn(io::Awaitable<void> work);

    // A turn of a conversation. False when the conversation cannot go on.
    io::Awaitable<bool> turn(exa::loadgen::Conversation& conversation, TimePoint due,
                             std::optional<exa::loadgen::Lengths> lengths);
    // One way to a target and back; the call is over unless `sink` then asks for another.
    io::Awaitable<void> attempt(exa::loadgen::Call& call, Sink& sink, std::uint32_t target, const std::string& bytes);
    std::string bytes_of(const exa::loadgen::Request& request) const;
    void fail(exa::loadgen::Call& call, exa::loadgen::Failure failure, std::string_view message);
    io::Awaitable<void> sleep_until(TimePoint time);

    bool has_requests() const;
    exa::loadgen::Conversation next_conversation(TimePoint now);
    void refuse(TimePoint due);  // a request that is over the limit
    void stop_starting();
    void end_at_once();
    std::uint64_t overdue() const;

    const LoadPlan& plan_;
    const exa::loadgen::Config config_;
    const io::clock::SystemClock& clock_;
    boost::asio::io_context context_{1};
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
    exa::loadgen::Recorder recorder_;
    exa::loadgen::Workload workload_;
    LoadCounters counters_;

    std::optional<exa::loadgen::Arrivals> arrivals_;  // of an open loop
    bool paused_ = false;
    bool stopped_ = false;            // the time is over
    bool halted_ = false;             // the same, by order of the owner
    bool interrupted_ = false;        // what is under way does not matter
    bool closed_ = false;             // what was under way has been closed
    boost::asio::steady_timer pace_;  // until the next arrival
    TimePoint stop_at_;
    TimePoint last_done_{};
    std::uint64_t started_ = 0;
    std::size_t tasks_ = 0;

    std::multimap<TimePoint, exa::loadgen::Conversation>
        parked_;  // of an open loop: between turns, by when they may go on
    std::vector<std::unique_ptr<LoadConnections>> connections_;  // by target
    std::set<const exa::loadgen::Call*> calls_;
    std::set<boost::asio::steady_timer*> sleepers_;  // what the end of the load wakes
};

}  // namespace exa::app::loadgen
