#include "app/loadgen/load_test.h"

#include <algorithm>
#include <future>
#include <utility>

#include "app/loadgen/worker.h"
#include "base/check.h"

namespace exa::app::loadgen {

LoadTest::LoadTest(LoadPlan plan) : plan_(std::move(plan)) {
    EXA_CHECK(!plan_.targets.empty());
}

LoadTest::~LoadTest() {
    stop(true);
    for (const auto& worker : workers_) worker->release();
    for (std::thread& thread : threads_) thread.join();
}

void LoadTest::start() {
    plan_.start = clock_.now();
    for (std::uint32_t i = 0; i < plan_.config.threads; ++i)
        workers_.push_back(std::make_unique<LoadWorker>(plan_, i, clock_));
    for (const auto& worker : workers_) threads_.emplace_back([&worker = *worker] { worker.run(); });
}

bool LoadTest::is_done() const {
    return std::ranges::all_of(workers_, [](const auto& worker) { return worker->counters().done.load(); });
}

LoadTest::Progress LoadTest::progress() const {
    Progress sum;
    sum.since_start = clock_.now() - plan_.start;
    for (const auto& worker : workers_) {
        sum.succeeded += worker->counters().succeeded;
        sum.failed += worker->counters().failed;
        sum.in_flight += worker->counters().in_flight;
    }
    return sum;
}

void LoadTest::set_rate(double rate) {
    for (const auto& worker : workers_) worker->set_rate(rate / plan_.config.threads);
}

void LoadTest::stop(bool at_once) {
    for (const auto& worker : workers_) worker->stop(at_once);
}

// Until every worker has done it.
void LoadTest::on_each(const std::function<void(exa::loadgen::Recorder&, std::uint64_t)>& task) {
    for (const auto& worker : workers_) {
        std::promise<void> done;
        worker->with_recorder([&](exa::loadgen::Recorder& recorder, std::uint64_t overdue) {
            task(recorder, overdue);
            done.set_value();
        });
        done.get_future().wait();
    }
}

void LoadTest::begin_phase() {
    on_each([now = clock_.now()](exa::loadgen::Recorder& recorder, std::uint64_t) { recorder.begin_phase(now); });
}

LoadTest::Glance LoadTest::glance() {
    Glance sum;
    on_each([&](exa::loadgen::Recorder& recorder, std::uint64_t overdue) {
        sum.overdue += overdue;
        if (recorder.phases().empty()) return;
        if (&recorder == &workers_.front()->recorder())
            sum.phase = recorder.phases().back();
        else
            sum.phase.merge(recorder.phases().back());
    });
    return sum;
}

exa::loadgen::Recorder LoadTest::finish() {
    for (const auto& worker : workers_) worker->release();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    exa::loadgen::Recorder sum = workers_.front()->recorder();
    for (std::size_t i = 1; i < workers_.size(); ++i) sum.merge(workers_[i]->recorder());
    return sum;
}

}  // namespace exa::app::loadgen
