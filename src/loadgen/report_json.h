// A report as one JSON object (docs/bench.md lists its members).
#pragma once

#include <string>

#include "loadgen/report.h"

namespace exa::loadgen {

std::string report_json(const Report& report);

}  // namespace exa::loadgen
