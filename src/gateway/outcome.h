// Outcome: how one attempt of a request ended.
#pragma once

#include <cstdint>

#include "wire/link_messages.h"

namespace exa::gateway {

enum class Outcome : std::uint8_t {
    finished,  // also with a client's error (4xx)
    client_gone,
    busy,
    draining,
    refused,    // the view was wrong: no such replica there, or of another model, version or tenant
    suspect,    // silent, and its peer is suspect or dead
    unfit,      // the prompt is too long for that replica
    no_permit,  // it waited for a permit as long as it might
    connect_failed,
    link_broken,
    timed_out,
    failed,
};

Outcome outcome_of(wire::EndCode code);

}  // namespace exa::gateway
