// Expected failures of the simulator's own input: scenario files, settings, trace files.
#pragma once

#include <system_error>

namespace exa::sim {

enum class errc {
    bad_scenario = 1,  // a scenario file or a setting; the detail names the key and what is accepted
    bad_trace,         // a trace file that cannot be read or is none
    not_written,       // a file of output; the detail names it
    no_such_event,
    nothing_to_shrink,
};

std::error_code make_error_code(errc code);

}  // namespace exa::sim

template <>
struct std::is_error_code_enum<exa::sim::errc> : std::true_type {};
