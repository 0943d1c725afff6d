// What the lists of configuration keys have in common: setters for the usual kinds of value.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

#include "app/config/config.h"
#include "app/shared/errc.h"
#include "base/result.h"

namespace exa::app {

// "'TEXT' is not ACCEPTED".
inline Error bad_value(std::string_view text, std::string_view accepted) {
    return error(errc::usage, fmt::format("'{}' is not {}", text, accepted));
}

template <std::string PeerConfig::* Member>
Result<void> set_text(PeerConfig& config, std::string_view text) {
    if (text.size() > 4096) return bad_value(text.substr(0, 32), "at most 4096 bytes long");
    config.*Member = text;
    return success();
}

// A label travels in gossip and stands in logs and tables.
template <std::string PeerConfig::* Member>
Result<void> set_label(PeerConfig& config, std::string_view text) {
    const bool plain = std::ranges::all_of(text, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
               c == '.';
    });
    if (text.empty() || text.size() > 63 || !plain) return bad_value(text, "1 to 63 letters, digits, '-', '_' or '.'");
    config.*Member = text;
    return success();
}

template <std::string PeerConfig::* Member>
Result<void> set_address(PeerConfig& config, std::string_view text) {
    const auto colon = text.rfind(':');
    std::uint16_t port = 0;
    const std::string_view digits = colon == text.npos ? std::string_view{} : text.substr(colon + 1);
    const auto [end, errc] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
    if (colon == text.npos || colon == 0 || digits.empty() || errc != std::errc{} ||
        end != digits.data() + digits.size())
        return bad_value(text, "HOST:PORT (IPv6 as [::1]:8000) with a port of 0 to 65535");
    config.*Member = text;
    return success();
}

template <std::uint32_t PeerConfig::* Member, std::uint32_t Least, std::uint32_t Most>
Result<void> set_number(PeerConfig& config, std::string_view text) {
    std::uint32_t number = 0;
    const auto [end, errc] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (errc != std::errc{} || end != text.data() + text.size() || number < Least || number > Most)
        return bad_value(text, fmt::format("a whole number from {} to {}", Least, Most));
    config.*Member = number;
    return success();
}

template <bool PeerConfig::* Member>
Result<void> set_flag(PeerConfig& config, std::string_view text) {
    if (text != "true" && text != "false") return bad_value(text, "true or false");
    config.*Member = text == "true";
    return success();
}

}  // namespace exa::app
