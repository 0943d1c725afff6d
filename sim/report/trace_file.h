// Trace file: a run written down, one JSON object a line; the first says what was run, each other is one trace entry.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sim/scenarios/scenario.h"
#include "sim/world/trace.h"

namespace exa::sim {

struct TraceHeader {
    std::string scenario;  // name
    std::string text;      // of the scenario's file
    std::vector<Setting> settings;
    std::uint64_t seed = 0;
    std::string mutant;
};

std::string to_line(const TraceHeader& header);
std::string to_line(const TraceEntry& entry);
// For people: "12.345678 s  datagram  peer 3 <- peer 7".
std::string describe(const TraceEntry& entry);

class TraceReader {
  public:
    // errc::bad_trace.
    static Result<TraceReader> open(const std::string& path);
    const TraceHeader& header() const { return header_; }
    // The next line; empty at the end.
    std::string next();

  private:
    TraceReader(std::ifstream file, TraceHeader header) : file_(std::move(file)), header_(std::move(header)) {}

    std::ifstream file_;
    TraceHeader header_;
};

}  // namespace exa::sim
