// Why a request could not be placed, or why a configuration is refused.
#pragma once

#include <cstdint>
#include <system_error>

namespace exa::router {

enum class errc {
    model_not_found = 1,  // no peer speaks of such a model (or version of it); retrying does not help
    no_replica_ready,     // the model is known, but none of its replicas is ready
    all_replicas_busy,    // every replica is at its limit for the moment
    replicas_draining,    // every replica that could be asked drains: it takes no new requests
    out_of_reach,         // the links to all replicas are broken, or these failed or refused a moment ago
    context_too_long,     // the prompt alone is past the context of every replica
    upstream_failed,      // the attempts are used up; the last replica failed
    upstream_timeout,     // the same; the last replica did not answer in time
    stream_broken,        // the replica went away after the client had seen bytes
    invalid_config,       // nothing was changed
};

// What the HTTP gateway answers with. Never for stream_broken (the status has left already) or invalid_config.
std::uint16_t http_status(errc code);

std::error_code make_error_code(errc code);

}  // namespace exa::router

template <>
struct std::is_error_code_enum<exa::router::errc> : std::true_type {};
