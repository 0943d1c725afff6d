// A report as one HTML page with plots, which needs nothing but itself.
#pragma once

#include <string>

#include "loadgen/report.h"

namespace exa::loadgen {

std::string report_html(const Report& report);

}  // namespace exa::loadgen
