// LoadPlan: everything that a load test needs to know before it starts.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/endpoint.h"
#include "base/result.h"
#include "base/time.h"
#include "loadgen/config.h"
#include "loadgen/prompts.h"
#include "loadgen/trace.h"

namespace exa::app::loadgen {

struct LoadTarget {
    std::string url;
    Endpoint endpoint;
    // The head of every request up to its session and length, each line with its end.
    std::string head;
};

struct LoadPlan {
    exa::loadgen::Config config;
    std::vector<LoadTarget> targets;            // at least one
    std::vector<exa::loadgen::Prompt> prompts;  // empty: made up
    std::vector<exa::loadgen::TraceRow> trace;  // of ArrivalKind::trace
    TimePoint start;
};

using HeaderFields = std::vector<std::pair<std::string, std::string>>;

// `url`: "http://host:port", or with the path that stands before /chat/completions ("/v1" when there is none). A name
// is looked up once, and its first address taken. `headers` go with every request. io::errc::bad_address,
// name_not_resolved.
Result<LoadTarget> make_load_target(std::string_view url, exa::loadgen::Api api, const HeaderFields& headers);

}  // namespace exa::app::loadgen
