// The argument of a planned step: which slot of a table it is for, in which of the slot's uses, and what is to be done.
#pragma once

#include <cstdint>

namespace exa::sim {

struct StepArg {
    static constexpr std::uint64_t index_bits = 28;
    static constexpr std::uint64_t serial_bits = 28;
    static constexpr std::uint64_t index_mask = (std::uint64_t{1} << index_bits) - 1;
    static constexpr std::uint64_t serial_mask = (std::uint64_t{1} << serial_bits) - 1;

    std::uint32_t index = 0;
    std::uint32_t serial = 0;  // its low bits
    std::uint8_t step = 0;

    std::uint64_t packed() const {
        return std::uint64_t{step} << (index_bits + serial_bits) | (serial & serial_mask) << index_bits | index;
    }
    static StepArg unpack(std::uint64_t arg) {
        return {static_cast<std::uint32_t>(arg & index_mask),
                static_cast<std::uint32_t>(arg >> index_bits & serial_mask),
                static_cast<std::uint8_t>(arg >> (index_bits + serial_bits))};
    }
    bool is_of(std::uint32_t now) const { return (now & serial_mask) == serial; }
};

}  // namespace exa::sim
