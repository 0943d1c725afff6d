// LinkKeys: the keys of an encrypted cluster as they are at one moment, for those who derive from them.
//
// An immutable value, shared by pointer between threads; a rotation publishes a new one. Without any key the cluster is
// not sealed and links are plain.
#pragma once

#include <vector>

#include "base/cluster_key.h"

namespace exa {

struct LinkKeys {
    KeyId primary;                 // what new links are made with; one of `keys` unless there is none
    std::vector<ClusterKey> keys;  // sorted by id; a link made with any of them is welcome and stays
    bool operator==(const LinkKeys&) const = default;

    bool empty() const { return keys.empty(); }
    // Nothing when `id` is not held (any more): links made with it are to be closed.
    const ClusterKey* find(KeyId id) const {
        for (const ClusterKey& key : keys)
            if (key.id == id) return &key;
        return nullptr;
    }
};

}  // namespace exa
