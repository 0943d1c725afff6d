// Events of membership, in the order in which they happened. A view taken after an event agrees with it.
#pragma once

#include <cstdint>

#include "base/ids.h"

namespace exa::membership {

enum class EventKind : std::uint8_t {
    joined,          // a peer, or a new instance of one: `generation` says which
    suspect,         // `other` is the accuser
    alive,           // a suspicion or a death was refuted
    dead,            // `other` is the peer that called it dead
    lost,            // dead for so long that its work is to be re-created
    left,            // by its own word
    updated,         // its record changed
    forgotten,       // it is no longer in the view
    name_conflict,   // `peer` claims the name that `other` holds; `refuse`: we are `peer`
    waits_for_name,  // we, `peer`, are new, and `other` holds our name: it does not answer us, and is to be called dead
    id_conflict,     // `peer` is alive twice, or `generation` went back; `refuse`: we are it and must not serve
    rack_down,    // `peer` and all other suspects of its rack are called dead in one go; a dead event of each follows
    losses_held,  // more than a third are dead at once: none of them becomes lost until that ends or confirm_dead()
    losses_released,   // the dead become lost in their time again
    udp_blocked,       // our probes are answered over links only: datagrams do not get through
    udp_restored,      // a datagram got through again
    pair_udp_blocked,  // no datagrams pass between us and `peer`, which others can ping
    pair_udp_restored,
    pair_link_blocked,  // no link can be opened to `peer`, or from it to us, while datagrams pass
    pair_link_restored,
    joined_cluster,    // our own first full comparison with a member is done (or we are the first)
    alone_with_seeds,  // there are seeds or members of before to ask, and none of them has answered
    seed_silent,       // a seed has not answered for minutes
    left_cluster,      // that we leave has been spread: the process may end
    // In an encrypted cluster; `peer` is ourselves.
    keys_changed,      // our key ring changed: store it, then call node::Node::keys_stored()
    heard_plaintext,   // somebody sends us plaintext gossip
    heard_encrypted,   // somebody sends us encrypted gossip, and we have no key
    heard_foreign_key  // somebody encrypts with a key that we do not hold, or pretends to
};

struct Event {
    EventKind kind = EventKind::joined;
    PeerId peer;
    Generation generation;
    PeerId other;
    bool refuse = false;
    // Of `peer`, as the roster had it then.
    Incarnation incarnation{};
    std::uint32_t instance = 0;
    bool operator==(const Event&) const = default;
};

}  // namespace exa::membership
