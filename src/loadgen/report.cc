#include "loadgen/report.h"

namespace exa::loadgen {

Summary summarize(const Report& report) {
    const Recorder& recorder = report.recorder;
    Summary summary;
    if (recorder.end() != time_never && recorder.end() > recorder.from())
        summary.measured_s = to_seconds(recorder.end() - recorder.from());
    if (summary.measured_s > 0) {
        const auto per_second = [&](std::uint64_t count) { return static_cast<double>(count) / summary.measured_s; };
        summary.requests_per_s = per_second(recorder.ended().succeeded);
        summary.goodput_per_s = per_second(recorder.ended().met);
        summary.output_tokens_per_s = per_second(recorder.output_tokens());
        summary.events_per_s = per_second(recorder.tokens());
    }
    const Tally& due = recorder.due();
    if (due.finished() > 0) summary.attained = static_cast<double>(due.met) / static_cast<double>(due.finished());
    summary.holds = due.finished() > 0 && summary.attained >= report.config.slo.share;
    return summary;
}

}  // namespace exa::loadgen
