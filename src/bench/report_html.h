// A report as one HTML page with plots, which needs nothing but itself.
#pragma once

#include <string>

#include "bench/report.h"

namespace exa::bench {

std::string report_html(const Report& report);

}  // namespace exa::bench
