// What membership tells its owner, in the order it happened. A view taken after an event holds what it says.
#pragma once

#include <cstdint>

#include "base/ids.h"

namespace exa::membership {

enum class EventKind : std::uint8_t {
    joined,         // a peer, or a new instance of one: `generation` says which
    suspect,        // `other` is the accuser
    alive,          // a suspicion or a death was refuted
    dead,           // `other` is who called it so
    lost,           // dead for so long that its work is to be re-created
    left,           // by its own word
    updated,        // its record changed
    forgotten,      // it is in no view any more
    name_conflict,  // `peer` claims the name that `other` holds; `refuse`: we are `peer`
    id_conflict,    // `peer` is alive twice, or `generation` went back; `refuse`: we are it and must not serve
    rack_down,      // `peer` and all other suspects of its rack are called dead in one go; a dead event of each follows
    losses_held,    // more than a third are dead at once: none of them becomes lost until that ends or confirm_dead()
    losses_released,  // what was held goes on
    udp_blocked,      // our probes are answered over links only: datagrams do not get through
    udp_restored,     // one did again
    joined_cluster,   // our own first full comparison with a member is done (or we are the first)
    left_cluster,     // our leaving has been spread: the process may end
    // Of a sealed cluster; `peer` is ourselves.
    keys_changed,      // our key ring: it is to be stored, and then node::Node::keys_stored() called
    heard_plaintext,   // somebody sends us gossip that is not sealed
    heard_encrypted,   // somebody sends us sealed gossip, and we have no key
    heard_foreign_key  // somebody seals with a key that we do not hold, or pretends to
};

struct Event {
    EventKind kind = EventKind::joined;
    PeerId peer;
    Generation generation;
    PeerId other;
    bool refuse = false;
    // Of `peer`, as it was then held.
    Incarnation incarnation{};
    std::uint32_t instance = 0;
    bool operator==(const Event&) const = default;
};

}  // namespace exa::membership
