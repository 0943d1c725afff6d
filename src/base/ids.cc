#include "base/ids.h"

#include <charconv>

#include "base/bytes.h"
#include "base/hash.h"

namespace exa {

namespace {

// The whole of `text` as an unsigned number, or nothing.
template <class T>
std::optional<T> parse_whole(std::string_view text, int base) {
    T value{};
    const auto [end, errc] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (errc != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

std::optional<std::uint64_t> parse_hex16(std::string_view text) {
    if (text.size() != 16) return std::nullopt;
    return parse_whole<std::uint64_t>(text, 16);
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
    const auto value = parse_hex16(text);
    if (!value) return std::nullopt;
    return PeerId{*value};
}

std::optional<ReplicaId> parse_replica_id(std::string_view text) {
    if (text.size() < 35 || text[16] != '.' || text[33] != '.') return std::nullopt;
    const auto peer = parse_hex16(text.substr(0, 16));
    const auto deployment = parse_hex16(text.substr(17, 16));
    const auto slot = parse_whole<std::uint16_t>(text.substr(34), 10);
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
