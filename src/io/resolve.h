// Resolve: "host:port" texts to endpoints, by DNS when they are names.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/endpoint.h"
#include "base/result.h"
#include "base/time.h"
#include "io/async.h"

namespace exa::io {

struct HostPort {
    std::string host;  // without brackets
    std::uint16_t port = 0;
};

// "name:port", "1.2.3.4:port" or "[::1]:port"; without a port `default_port` stands in, 0 meaning that one is needed.
Result<HostPort> parse_host_port(std::string_view text, std::uint16_t default_port = 0);

// Every address of one text, in the resolver's order. errc::name_not_resolved, errc::timed_out.
Awaitable<Result<std::vector<Endpoint>>> resolve(std::string text, std::uint16_t default_port, Duration timeout);

struct Resolved {
    std::vector<Endpoint> endpoints;  // sorted, each once
    std::vector<Error> failures;      // one for each text that gave none
};

// Each within `timeout`. Numbers answer at once; names are looked up by one thread of the context, in order, so one
// that hangs holds up the names after it (their time is up then, and the caller asks again).
Awaitable<Resolved> resolve_all(std::vector<std::string> texts, std::uint16_t default_port, Duration timeout);

}  // namespace exa::io
