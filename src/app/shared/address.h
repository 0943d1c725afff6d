// What kind of address an endpoint has.
#pragma once

#include <array>
#include <cstdint>

#include "base/endpoint.h"

namespace exa::app::shared {

// 127.0.0.0/8 or ::1: only this machine reaches it.
inline bool is_loopback(const Endpoint& endpoint) {
    static constexpr std::array<std::uint8_t, 16> v6 = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
    return endpoint.is_v4() ? endpoint.address[12] == 127 : endpoint.address == v6;
}

}  // namespace exa::app::shared
