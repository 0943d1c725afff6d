#include "base/ids.h"

#include <charconv>

#include "base/bytes.h"
#include "base/hash.h"

namespace exa {

namespace {

std::optional<std::uint16_t> parse_slot(std::string_view text) {
    std::uint16_t slot = 0;
    const auto [end, errc] = std::from_chars(text.data(), text.data() + text.size(), slot);
    if (errc != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return slot;
}

}  // namespace

std::string to_string(PeerId id) {
    std::string text;
    append_hex(text, id.value);
    return text;
}

std::string to_string(const ReplicaId& id) {
    std::string text;
    text.reserve(40);
    append_hex(text, id.peer.value);
    append_hex(text += '.', id.deployment.value);
    return (text += '.') += std::to_string(id.slot);
}

std::optional<PeerId> parse_peer_id(std::string_view text) {
    const auto value = parse_hex(text);
    if (!value) return std::nullopt;
    return PeerId{*value};
}

std::optional<ReplicaId> parse_replica_id(std::string_view text) {
    if (text.size() < 35 || text[16] != '.' || text[33] != '.') return std::nullopt;
    const auto peer = parse_hex(text.substr(0, 16));
    const auto deployment = parse_hex(text.substr(17, 16));
    const auto slot = parse_slot(text.substr(34));
    if (!peer || !deployment || !slot) return std::nullopt;
    return ReplicaId{PeerId{*peer}, DeploymentId{*deployment}, *slot};
}

DeploymentId deployment_id(std::string_view name) {
    return DeploymentId{hash64(as_bytes(name))};
}

ClusterId cluster_id(std::string_view name) {
    return ClusterId{hash64(as_bytes(name))};
}

}  // namespace exa
