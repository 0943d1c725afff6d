#include "loadgen/outcome.h"

namespace exa::loadgen {

std::string_view to_string(Failure failure) {
    switch (failure) {
        case Failure::none:
            return "none";
        case Failure::status:
            return "status";
        case Failure::refused:
            return "refused";
        case Failure::connect_timeout:
            return "connect_timeout";
        case Failure::unreachable:
            return "unreachable";
        case Failure::first_byte_timeout:
            return "first_byte_timeout";
        case Failure::idle_timeout:
            return "idle_timeout";
        case Failure::reset:
            return "reset";
        case Failure::malformed:
            return "malformed";
        case Failure::bad_answer:
            return "bad_answer";
        case Failure::error_event:
            return "error_event";
        case Failure::truncated:
            return "truncated";
        case Failure::unfinished:
            return "unfinished";
        case Failure::overflow:
            return "overflow";
    }
    return "unknown";
}

bool Slo::is_met(const Outcome& outcome) const {
    // The 99th percentile of n gaps is at most the limit exactly when no more than n / 100 of them are above it.
    return outcome.ok() && outcome.ttft && *outcome.ttft <= ttft && outcome.late_gaps <= outcome.gaps / 100;
}

}  // namespace exa::loadgen
