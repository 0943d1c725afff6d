// The report of one run: one HTML file that needs nothing else. A timeline of faults, who knew what when, a heat map of
// the replicas' load, and plots, all as SVG.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/cluster/cluster.h"
#include "sim/report/outcome_json.h"
#include "sim/run/run.h"
#include "sim/scenarios/scenario.h"
#include "sim/world/trace.h"

namespace exa::sim {

// What a report is made from; filled while the run goes on.
class Timeline {
  public:
    struct Sample {
        double at_s = 0;
        std::uint64_t datagram_bytes = 0;      // so far
        std::vector<std::uint16_t> in_flight;  // by host, all its replicas
        std::vector<std::uint16_t> ready;      // by host, of its replicas
        std::vector<std::uint8_t> up;          // by host
    };

    // For RunOptions: the listener and the look that is taken every second.
    bool note(const TraceEntry& entry);
    void look(const Cluster& cluster);

    const std::vector<Sample>& samples() const { return samples_; }
    // What peers were told of others' suspicion, death and return.
    const std::vector<TraceEntry>& told() const { return told_; }

  private:
    std::vector<Sample> samples_;
    std::vector<TraceEntry> told_;
};

std::string to_html(const RunIdentity& identity, const Scenario& scenario, const Outcome& outcome,
                    const Timeline& timeline, const RunTime& time);

}  // namespace exa::sim
