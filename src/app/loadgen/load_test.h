// LoadTest: a load test from start to end, on threads of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "app/loadgen/plan.h"
#include "io/clock/system_clock.h"
#include "loadgen/recorder.h"

namespace exa::app::loadgen {

class LoadWorker;

class LoadTest {
  public:
    // The plan is valid. Nothing starts yet.
    explicit LoadTest(LoadPlan plan);
    // Stops at once what still runs.
    ~LoadTest();
    LoadTest(const LoadTest&) = delete;
    LoadTest& operator=(const LoadTest&) = delete;

    void start();
    bool is_done() const;

    struct Progress {
        Duration since_start{};
        std::uint64_t succeeded = 0;
        std::uint64_t failed = 0;
        std::uint64_t in_flight = 0;
    };
    Progress progress() const;

    // Of an open loop, requests/s in all; 0 pauses it.
    void set_rate(double rate);
    // Starts nothing more. `at_once`: answers under way do not matter.
    void stop(bool at_once);
    // Marks the moment in every recorder.
    void begin_phase();

    struct Glance {
        exa::loadgen::Phase phase;  // the last one
        std::uint64_t overdue = 0;  // requests that wait too long for their first token
    };
    // Asks every thread; takes as long as the busiest of them.
    Glance glance();

    // When all is done, or after stop(true): everything that was recorded. To be called once.
    exa::loadgen::Recorder finish();

    const LoadPlan& plan() const { return plan_; }
    TimePoint now() const { return clock_.now(); }

  private:
    void on_each(const std::function<void(exa::loadgen::Recorder&, std::uint64_t)>& task);

    io::clock::SystemClock clock_;
    LoadPlan plan_;
    std::vector<std::unique_ptr<LoadWorker>> workers_;
    std::vector<std::thread> threads_;
};

}  // namespace exa::app::loadgen
