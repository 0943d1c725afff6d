// Kinds of options that only a peer's configuration has: texts, labels, addresses and lists of them.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/option.h"
#include "io/resolve.h"

namespace exa::app::config {

inline std::string text_problem(std::string_view text) {
    return text.size() > 4096 ? bad_value(text.substr(0, 32), "at most 4096 bytes long") : std::string();
}

// A label travels in gossip and stands in logs and tables.
inline std::string label_problem(std::string_view text) {
    const bool is_plain = std::ranges::all_of(text, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
               c == '.';
    });
    if (!text.empty() && text.size() <= 63 && is_plain) return {};
    return bad_value(text, "1 to 63 letters, digits, '-', '_' or '.'");
}

inline std::string address_problem(std::string_view text) {
    const auto colon = text.rfind(':');
    std::uint16_t port = 0;
    if (colon != text.npos && colon != 0 && parse_number(text.substr(colon + 1), port)) return {};
    return bad_value(text, "HOST:PORT (IPv6 as [::1]:8000) with a port of 0 to 65535");
}

// A gossip address that can be asked: a host or a number, and a port.
inline std::string seed_problem(std::string_view text) {
    if (io::parse_host_port(text)) return {};
    return bad_value(text, "HOST:PORT (IPv6 as [::1]:7946) with a port of 1 to 65535, without a scheme or blanks");
}

// `problem` as one of the functions above.
template <class Config>
Option<Config> text_option(std::string_view name, std::string_view placeholder, std::string Config::* field,
                           std::string_view help, std::string (*problem)(std::string_view) = text_problem) {
    return parsed<Config, std::string>(
        name, OptionType::text, placeholder, field,
        [problem](std::string_view text, std::string& value) {
            std::string wrong = problem(text);
            if (wrong.empty()) value = text;
            return wrong;
        },
        [](const std::string& value) { return value; }, help);
}

// Members are written one after another with commas, or as a TOML array.
template <class Config>
Option<Config> list_option(std::string_view name, std::string_view member, std::vector<std::string> Config::* field,
                           std::size_t most, std::string_view help, std::string (*problem)(std::string_view)) {
    auto option = parsed<Config, std::vector<std::string>>(
        name, OptionType::list, std::string(member) + ",...", field,
        [problem, most](std::string_view text, std::vector<std::string>& value) {
            std::vector<std::string> members;
            for (std::size_t at = 0; at <= text.size() && !text.empty();) {
                const std::size_t comma = std::min(text.find(',', at), text.size());
                members.emplace_back(text.substr(at, comma - at));
                if (std::string wrong = problem(members.back()); !wrong.empty()) return wrong;
                at = comma + 1;
            }
            if (members.size() > most)
                return "'" + std::to_string(members.size()) + " members' is not at most " + std::to_string(most);
            value = std::move(members);
            return std::string();
        },
        [](const std::vector<std::string>& value) {
            std::string text;
            for (const std::string& one : value) text += (text.empty() ? "" : ",") + one;
            return text;
        },
        help);
    option.range = "at most " + std::to_string(most);
    return option;
}

}  // namespace exa::app::config
