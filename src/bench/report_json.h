// A report as one JSON object (docs/bench.md lists its members).
#pragma once

#include <string>

#include "bench/report.h"

namespace exa::bench {

std::string report_json(const Report& report);

}  // namespace exa::bench
