// How a peer's own warm-up says so: its requests reach replicas that are not ready, through a gateway that asks others
// for a key.
#pragma once

#include <optional>
#include <string_view>

#include "base/bytes.h"
#include "base/crypto.h"
#include "base/ids.h"
#include "io/http/message.h"

namespace exa::app::replica {

inline constexpr std::string_view warm_up_header = "x-exaserve-warm-up";

// "<secret> <replica id>" in the header; nothing when the request is an ordinary one.
inline std::optional<ReplicaId> warm_up_target(const io::http::HttpRequest& request, std::string_view secret) {
    const auto header = request.headers.find(warm_up_header);
    if (!header || secret.empty() || header->size() <= secret.size()) return std::nullopt;
    if (!equal_constant_time(as_bytes(header->substr(0, secret.size())), as_bytes(secret))) return std::nullopt;
    return parse_replica_id(header->substr(secret.size() + 1));
}

}  // namespace exa::app::replica
