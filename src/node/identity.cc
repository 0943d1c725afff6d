#include "node/identity.h"

#include <charconv>
#include <system_error>

#include "base/bytes.h"
#include "base/hash.h"

namespace exa::node {

namespace {

constexpr std::string_view header = "exaserve-identity 2\n";
constexpr std::size_t id_digits = 16;

std::string checksum(const Identity& identity) {
    std::string hex;
    append_hex(hex, hash64(identity.id.value, identity.generation.value));
    return hex;
}

}  // namespace

std::string format_identity(const Identity& identity) {
    return std::string(header) + to_string(identity.id) + " " + std::to_string(identity.generation.value) + " " +
           checksum(identity) + "\n";
}

std::optional<Identity> parse_identity(std::string_view text) {
    if (text.size() <= header.size() || !text.starts_with(header) || !text.ends_with('\n')) return std::nullopt;
    text.remove_prefix(header.size());
    text.remove_suffix(1);
    if (text.size() < id_digits + 2 || text[id_digits] != ' ') return std::nullopt;
    const auto id = parse_peer_id(text.substr(0, id_digits));
    Identity identity{id.value_or(PeerId{}), {}};
    text.remove_prefix(id_digits + 1);
    const std::string_view digits = text.substr(0, text.find(' '));
    const auto [end, errc] = std::from_chars(digits.data(), digits.data() + digits.size(), identity.generation.value);
    if (identity.id == PeerId{} || errc != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
    text.remove_prefix(digits.size());
    if (text != " " + checksum(identity)) return std::nullopt;
    return identity;
}

std::optional<NextInstance> next_instance(std::optional<std::string_view> kept, PeerId fresh, Mutant mutant) {
    NextInstance next{.identity = {fresh, Generation{0}}, .file = {}};
    if (kept) {
        const auto known = parse_identity(*kept);
        if (!known) return std::nullopt;
        next.identity = *known;
    }
    ++next.identity.generation.value;
    const bool forgets = kept && mutant == Mutant::generation_not_persisted;
    next.file = forgets ? std::string(*kept) : format_identity(next.identity);
    return next;
}

}  // namespace exa::node
