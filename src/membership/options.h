// The options of membership::Config as data: whatever reads, checks or documents them goes through this table, so that
// every range stands once. The defaults stand in Config.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

#include "base/time.h"
#include "membership/config.h"

namespace exa::membership {

// A member of Config and the least and largest value that it may have, whatever the others are.
template <class T>
struct Field {
    T Config::* member;
    T min;
    T max;
};

struct Option {
    std::string_view name;  // of the member
    std::string_view help;  // one sentence for an operator, without default and range
    std::variant<Field<Duration>, Field<std::uint32_t>, Field<std::size_t>, Field<double>> field;
};

// One for each member of Config, in their order.
std::span<const Option> options();

}  // namespace exa::membership
