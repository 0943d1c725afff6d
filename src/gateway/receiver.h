// The target's side of a request: whether this peer may take it at all. The ingress chose by a view that may be stale,
// so model, version, tenant and state are checked again here. A receiver never forwards: it answers, or says why
// another replica must be tried, and holds nothing that could open a stream to one (tools/lint/layering.py proves
// that).
#pragma once

#include <optional>

#include "base/mutant.h"
#include "base/result.h"
#include "wire/link_messages.h"
#include "wire/records.h"

namespace exa::gateway {

// Why the request must go elsewhere; nothing: the replica may be asked. `record` is the replica as advertised, null
// when this peer has none of that id; its state is `state`, of this very moment.
std::optional<wire::EndCode> check(const wire::Open& open, const wire::ReplicaRecord* record, wire::ReplicaState state,
                                   Mutant mutant = Mutant::none);

// The end of a reply whose replica could not begin it. `why`: engine::errc::busy (no permit), deadline (none in time)
// or prompt_too_long.
wire::End refusal(const Error& why, const wire::LoadReport& load);

}  // namespace exa::gateway
