// The report of a load test as tables for people.
#pragma once

#include <string>

#include "exaserve/table.h"
#include "loadgen/report.h"

namespace exa::cli {

std::string bench_text(const loadgen::Report& report, Style style);

// "12.3 us", "4.56 ms", "7.89 s".
std::string human_latency(std::uint64_t us);

// Three digits that count: "0.42", "17.3", "4210".
std::string human_rate(double per_second);

}  // namespace exa::cli
