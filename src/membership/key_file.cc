#include "membership/key_file.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/base64.h"
#include "base/hash.h"
#include "membership/errc.h"
#include "wire/validate.h"

namespace exa::membership {

namespace {

constexpr std::string_view ring_header = "exaserve-keys 1";
constexpr std::string_view removed = "removed";

std::string_view take_until(std::string_view& text, char end) {
    const std::size_t at = std::min(text.find(end), text.size());
    const std::string_view head = text.substr(0, at);
    text.remove_prefix(std::min(at + 1, text.size()));
    return head;
}

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view blanks = " \t\r";
    const std::size_t first = text.find_first_not_of(blanks);
    if (first == text.npos) return {};
    return text.substr(first, text.find_last_not_of(blanks) + 1 - first);
}

std::optional<KeySecret> parse_secret(std::string_view text) {
    const auto bytes = from_base64(text);
    if (!bytes || bytes->size() != sizeof(KeySecret)) return std::nullopt;
    KeySecret secret;
    std::ranges::copy(*bytes, secret.begin());
    return secret;
}

std::optional<std::uint64_t> parse_number(std::string_view text) {
    std::uint64_t number = 0;
    const auto [end, errc] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (errc != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return number;
}

std::string checksum(std::string_view text) {
    return to_string(PeerId{hash64(as_bytes(text))});
}

// One line between the header and the end. False when it is none.
bool read_line(std::string_view line, wire::Keys& keys) {
    const std::string_view what = take_until(line, ' ');
    const std::string_view id_text = take_until(line, ' ');
    const auto id = parse_key_id(id_text);
    const auto stamp = parse_number(take_until(line, ' '));
    if (!stamp) return false;
    if (what == "primary" && line.empty()) {
        keys.primary = id.value_or(KeyId{});
        keys.primary_stamp = *stamp;
        return id.has_value() || id_text == to_string(KeyId{});
    }
    if (what != "key" || !id) return false;
    wire::KeyEntry entry{*id, *stamp, std::nullopt};
    if (line != removed) {
        entry.secret = parse_secret(line);
        if (!entry.secret) return false;
    }
    keys.entries.push_back(entry);
    return true;
}

}  // namespace

std::string format_key(const KeySecret& secret) {
    return to_base64(secret) + "\n";
}

Result<std::vector<ClusterKey>> parse_key_file(const Crypto& crypto, std::string_view text) {
    std::vector<ClusterKey> keys;
    for (std::size_t number = 1; !text.empty(); ++number) {
        std::string_view line = take_until(text, '\n');
        line = trimmed(take_until(line, '#'));
        if (line.empty()) continue;
        const auto secret = parse_secret(line);
        // The line itself may be most of a key.
        if (!secret) return error(errc::invalid_keys, "line " + std::to_string(number) + " is not 32 bytes as base64");
        const ClusterKey key = cluster_key(crypto, *secret);
        if (std::ranges::find(keys, key.id, &ClusterKey::id) == keys.end()) keys.push_back(key);
    }
    if (keys.empty()) return error(errc::invalid_keys, "there is no key in it");
    if (keys.size() > wire::keys_held_max)
        return error(errc::invalid_keys, std::to_string(keys.size()) + " keys, at most " +
                                             std::to_string(wire::keys_held_max) + " are held");
    return keys;
}

std::string format_ring(const wire::Keys& keys) {
    std::string text(ring_header);
    text += "\n";
    for (const wire::KeyEntry& entry : keys.entries)
        text += "key " + to_string(entry.id) + " " + std::to_string(entry.stamp) + " " +
                (entry.secret ? to_base64(*entry.secret) : std::string(removed)) + "\n";
    text += "primary " + to_string(keys.primary) + " " + std::to_string(keys.primary_stamp) + "\n";
    return text + "end " + checksum(text) + "\n";
}

Result<wire::Keys> parse_ring(std::string_view text) {
    const std::size_t end = text.rfind("end ");
    if (end == text.npos || text.substr(end) != "end " + checksum(text.substr(0, end)) + "\n")
        return error(errc::invalid_keys, "its checksum does not fit");
    text = text.substr(0, end);
    if (take_until(text, '\n') != ring_header) return error(errc::invalid_keys, "it is of another version");
    wire::Keys keys;
    while (!text.empty())
        if (!read_line(take_until(text, '\n'), keys)) return error(errc::invalid_keys, "a line is none of a key ring");
    if (const auto checked = wire::check(keys); !checked) return error(errc::invalid_keys, checked.error().message());
    return keys;
}

}  // namespace exa::membership
