#include "gateway/receiver.h"

#include "engine/errc.h"

namespace exa::gateway {

std::optional<wire::EndCode> check(const wire::Open& open, const wire::ReplicaRecord* record, wire::ReplicaState state,
                                   Mutant mutant) {
    if (record == nullptr) return wire::EndCode::not_found;
    const bool fits = record->model == open.model && (open.version.empty() || record->version == open.version) &&
                      (record->tenant_pool.empty() || record->tenant_pool == open.tenant);
    if (!fits && mutant != Mutant::receiver_trusts_ingress) return wire::EndCode::wrong_version;
    switch (state) {
        case wire::ReplicaState::ready:
        case wire::ReplicaState::degraded:
        case wire::ReplicaState::warming:  // only this peer's own warm-up knows of it
            return std::nullopt;
        case wire::ReplicaState::draining:
        case wire::ReplicaState::stopped:
            return wire::EndCode::draining;
        case wire::ReplicaState::created:
        case wire::ReplicaState::loading:
        case wire::ReplicaState::failed:
            return wire::EndCode::not_found;
    }
    return wire::EndCode::not_found;
}

wire::End refusal(const Error& why, const wire::LoadReport& load) {
    wire::EndCode code = wire::EndCode::busy;
    if (why.code == engine::errc::deadline) code = wire::EndCode::deadline;
    if (why.code == engine::errc::prompt_too_long) code = wire::EndCode::too_long;
    return {code, why.detail, load};
}

}  // namespace exa::gateway
