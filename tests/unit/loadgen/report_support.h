// A small report that tests of reports share: three successes, one of them late, and a 503, within ten seconds.
#pragma once

#include "loadgen/report.h"

namespace exa::loadgen {

inline constexpr TimePoint sample_start{std::chrono::seconds(1'000)};

inline Report sample_report() {
    using namespace std::chrono_literals;
    Report report{.name = "a <b> & \"c\"",
                  .preset = "steady",
                  .config = {},
                  .targets = {"http://one:8000", "http://two:8000"},
                  .started = {1'700'000'000'000'000},
                  .start = sample_start,
                  .took = 10s,
                  .recorder = Recorder(Slo{}, sample_start, sample_start, 2),
                  .steps = {},
                  .knee = {},
                  .broken = {},
                  .disturbances = {}};
    report.config.model = "m";
    for (const Duration ttft : {100ms, 200ms, 5000ms}) {
        Outcome outcome;
        outcome.intended = sample_start + 1s;
        outcome.done = outcome.intended + ttft + 1s;
        outcome.ttft = ttft;
        outcome.output_tokens = 10;
        report.recorder.started(outcome.intended);
        report.recorder.finished(outcome);
    }
    Outcome refused;
    refused.intended = sample_start + 2s;
    refused.done = refused.intended + 1ms;
    refused.failure = Failure::status;
    refused.status = 503;
    refused.message = "busy <now>";
    refused.target = 1;
    report.recorder.finished(refused);
    report.recorder.close(sample_start + 10s);
    return report;
}

}  // namespace exa::loadgen
