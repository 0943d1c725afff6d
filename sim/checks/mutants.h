// Mutants: realistic ways in which a core could be broken, done to it from outside. Each must be caught by some oracle
// in a short run; one that survives shows a hole in the oracles.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/bytes.h"
#include "base/ids.h"
#include "sim/cluster/cluster.h"
#include "sim/world/time.h"

namespace exa::sim {

enum class Mutant : std::uint8_t {
    none,
    generation_not_persisted,  // a restarted peer comes back under the generation of before
    lost_refutation,           // a suspect's answer never leaves it
    no_indirect_probe,         // nobody asks others to try
    deaf_to_bad_news,          // suspicions and deaths are not passed on
    silent_joiner,             // records of joiners are not passed on
    wrong_incarnation,         // deaths are told of an incarnation that was never
    no_anti_entropy,           // peers never compare
    acks_lost,                 // probes are answered to nobody
    eager_undertaker,          // one peer calls everybody it speaks of dead
    future_generation,         // facts speak of lives that have not been
    packet_too_long,           // datagrams are longer than they may be
    cluster_unchecked,         // the cluster a datagram is of is not looked at
    replay_is_news,            // what was heard before is taken for newer than it is
    control_behind_data,       // membership's messages wait in the queue of data
    busy_is_failure,           // a busy answer counts as a failure of the replica
    client_error_is_failure,   // so does a client's error
    receiver_trusts_entry,     // a replica does not look whether it serves the model asked for
    resume_repeats,            // a stream that goes on elsewhere begins a token early, and its entry does not look
    models_share_keys,         // the fingerprint of what computed a segment is no part of its key
    tenants_share_salt,        // neither is the tenant's salt
    mac_unchecked,             // segments are taken as they come, from the disk and from others
    early_publish,             // a segment is acknowledged before it is on the disk
    lost_repair,               // offers of a repair are taken for settled without being made
    values_unasked,            // a peer that has a value answers it without asking its owners
    places_leak,               // a place that is given back while the batch is full is sometimes lost
};

// Whose name the forged datagrams of attackers carry.
inline constexpr std::string_view attacking_cluster = "another cluster";

struct MutantInfo {
    Mutant mutant;
    std::string_view name;
    std::string_view about;
    std::string_view scenario;  // the built-in one that catches it
};

std::span<const MutantInfo> mutants();
std::optional<Mutant> parse_mutant(std::string_view name);

// What the mutant does to a datagram (`link` false) or a link message as it leaves `from`. False: it is not sent.
bool mutate(Mutant mutant, Host from, bool link, ClusterId cluster, Bytes& bytes);
// The same to what an attacker sends: for mutants of how it is received.
void mutate_stranger(Mutant mutant, Origin origin, ClusterId cluster, Bytes& bytes);

}  // namespace exa::sim
