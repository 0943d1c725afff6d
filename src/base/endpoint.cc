#include "base/endpoint.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>

namespace exa {

namespace {

constexpr std::array<std::uint8_t, 12> v4_prefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

}  // namespace

bool Endpoint::is_v4() const {
    return std::equal(v4_prefix.begin(), v4_prefix.end(), address.begin());
}

bool Endpoint::is_unspecified() const {
    const auto first = is_v4() ? address.begin() + 12 : address.begin();
    return std::all_of(first, address.end(), [](std::uint8_t byte) { return byte == 0; });
}

std::string to_string(const Endpoint& endpoint) {
    char text[INET6_ADDRSTRLEN] = {};
    if (endpoint.is_v4()) {
        inet_ntop(AF_INET, endpoint.address.data() + 12, text, sizeof text);
        return std::string(text) + ":" + std::to_string(endpoint.port);
    }
    inet_ntop(AF_INET6, endpoint.address.data(), text, sizeof text);
    return "[" + std::string(text) + "]:" + std::to_string(endpoint.port);
}

std::optional<Endpoint> parse_endpoint(std::string_view text) {
    const auto colon = text.rfind(':');
    // inet_pton would stop at a NUL and take what stands before it.
    if (colon == std::string_view::npos || text.find('\0') != std::string_view::npos) return std::nullopt;
    Endpoint endpoint;
    const std::string_view digits = text.substr(colon + 1);
    const auto [end, errc] = std::from_chars(digits.data(), digits.data() + digits.size(), endpoint.port);
    if (errc != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
    std::string host(text.substr(0, colon));
    if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
        host = host.substr(1, host.size() - 2);
        if (inet_pton(AF_INET6, host.c_str(), endpoint.address.data()) != 1) return std::nullopt;
        return endpoint;
    }
    std::copy(v4_prefix.begin(), v4_prefix.end(), endpoint.address.begin());
    if (inet_pton(AF_INET, host.c_str(), endpoint.address.data() + 12) != 1) return std::nullopt;
    return endpoint;
}

}  // namespace exa
