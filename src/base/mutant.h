// Mutant: a defect that a core can be built with on purpose, as a member of its config. The simulator switches one on
// to prove that an oracle catches it (docs/simulator.md, mutants); production never sets anything but `none`.
#pragma once

#include <cstdint>

namespace exa {

enum class Mutant : std::uint8_t {
    none,
    generation_not_persisted,  // a restarted peer comes back with its previous generation
    lost_refutation,           // a suspect's refutation never leaves it
    no_indirect_probe,         // no member is asked for an indirect probe, nor is the link probed
    deaf_to_bad_news,          // suspicions and deaths are not passed on
    silent_joiner,             // records of others are not passed on
    wrong_incarnation,         // deaths name an incarnation that never existed
    no_anti_entropy,           // peers never compare digests
    acks_lost,                 // probes are never acknowledged
    eager_undertaker,          // one peer declares dead everybody it gossips about
    future_generation,         // rumors name generations that do not exist yet
    packet_too_long,           // datagrams exceed their bound
    cluster_unchecked,         // a datagram's cluster id is not checked
    replay_is_news,            // a replayed datagram passes for a newer one
    control_behind_data,       // membership's messages queue behind data
    busy_is_failure,           // a busy answer counts as a failure of the replica
    client_error_is_failure,   // so does a client's error
    receiver_trusts_ingress,   // a receiver does not check which model was asked for
    resume_repeats,            // a stream resumes one token early, and its ingress does not check
    models_share_keys,         // a segment key leaves out the fingerprint of what computed it
    tenants_share_salt,        // a segment key leaves out the tenant's salt
    mac_unchecked,             // segments from disk and from peers are not verified
    early_publish,             // a segment is acknowledged before it is on disk
    lost_repair,               // offers of a repair count as made without being sent
    values_unasked,            // a peer answers with its own copy of a value without asking the owners
    permits_leak,              // a permit released while the replica is full is sometimes lost
    links_decide,              // an attempt without an answer leaves a peer only when their link breaks
    names_by_id,               // claims to a name are not looked at: the lower id keeps it
    alone_decides,             // a peer that has not met its cluster again takes commands that bind others
    lookup_once,               // a seed's name is looked up once
    links_flap,                // a link that cannot be opened is a suspicion each time
};

}  // namespace exa
