// Key history: the key ring that an instance of a peer starts with, from the ring that its disk kept and the operator's
// file.
//
// Production and the simulator call this very function, so that both store the same rings at the same moments: a ring
// that only memory holds hides what a restart forgets.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/cluster_key.h"
#include "base/crypto.h"
#include "base/result.h"
#include "membership/key_ring.h"

namespace exa::node {

struct FirstRing {
    membership::KeyRing ring;  // without keys: the cluster is plaintext
    // To be on the disk before the ring is used; nothing: the disk holds it already.
    std::optional<std::string> file;
};

// `kept` is the stored ring, if there is one; `given` are the keys of the operator's file, empty without one. Keys that
// the ring does not know yet are added to it. membership::errc::invalid_keys: the stored ring is damaged, and the peer
// must not start without its keys, or with old ones.
Result<FirstRing> first_ring(const Crypto& crypto, std::optional<std::string_view> kept,
                             std::span<const ClusterKey> given);

}  // namespace exa::node
