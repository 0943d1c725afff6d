// Endpoint: an IP address and a port, of either family, without a socket header.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace exa {

struct Endpoint {
    // IPv6, or IPv4 mapped as ::ffff:a.b.c.d. Network byte order.
    std::array<std::uint8_t, 16> address{};
    std::uint16_t port = 0;
    auto operator<=>(const Endpoint&) const = default;

    bool is_v4() const;
    // The unspecified address (0.0.0.0 or ::) can be bound to but not sent to.
    bool is_unspecified() const;
};

// "127.0.0.1:7946" or "[::1]:7946".
std::string to_string(const Endpoint& endpoint);

// The two forms above, numbers only: names are resolved in io/.
std::optional<Endpoint> parse_endpoint(std::string_view text);

}  // namespace exa
