// KeyOrder: what an operator wants of the cluster's keys, and what came of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/cluster_key.h"

namespace exa::app {

enum class KeyAction : std::uint8_t { add, use, remove };

struct KeyOrder {
    KeyAction action = KeyAction::add;
    KeyId id;                         // use, remove
    std::optional<KeySecret> secret;  // add; nothing: the peer makes one
    bool insist = false;              // use, remove: although it could cut peers off
};

struct KeyChange {
    KeyId id;
    std::string warning;  // what was insisted against; empty: nothing
};

}  // namespace exa::app
