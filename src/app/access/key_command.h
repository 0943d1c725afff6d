// KeyCommand: what an operator wants of the cluster's keys, and what came of it.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "base/cluster_key.h"

namespace exa::app::access {

struct AddKey {
    std::optional<KeySecret> secret;  // nothing: the peer makes one
    bool insist = false;              // although this peer has not met its cluster
};
// Makes it the primary key.
struct UseKey {
    KeyId id;
    bool insist = false;  // although it could cut peers off
};
struct RemoveKey {
    KeyId id;
    bool insist = false;  // although it could cut peers off
};

using KeyCommand = std::variant<AddKey, UseKey, RemoveKey>;

struct KeyChange {
    KeyId id;
    std::string warning;  // what was insisted against; empty: nothing
};

}  // namespace exa::app::access
