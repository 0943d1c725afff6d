// Trace: recorded arrivals with their lengths, from the CSV files of two public data sets:
//
//   BurstGPT                        Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type
//                                   (later editions have Session ID and Elapsed time too); seconds
//   Azure LLM inference 2023, 2024  TIMESTAMP,ContextTokens,GeneratedTokens; a date and a time of day
//
// Columns are found by their names in the first line, whatever their order and case, so other files that use these
// names do as well.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "loadgen/workload.h"

namespace exa::loadgen {

struct TraceRow {
    Duration at{};  // since the first row
    Lengths lengths;
};

// In the order of time. Rows without output (requests that failed when they were recorded) are left out.
// errc::bad_trace names the line.
Result<std::vector<TraceRow>> parse_trace(std::string_view csv);

}  // namespace exa::loadgen
