#include "sim/checks/mutants.h"

#include <algorithm>
#include <array>

namespace exa::sim {

namespace {

constexpr std::array infos = std::to_array<MutantInfo>({
    {Mutant::generation_not_persisted, "generation-not-persisted",
     "a restarted peer comes back under the generation of before", "churn"},
    {Mutant::lost_refutation, "lost-refutation", "a suspect's answer never leaves it", "gray-slow-peer"},
    {Mutant::no_indirect_probe, "no-indirect-probe", "nobody asks others, or the link, to try", "udp-pairs"},
    {Mutant::deaf_to_bad_news, "deaf-to-bad-news", "suspicions and deaths are not passed on", "crash-one"},
    {Mutant::silent_joiner, "silent-joiner", "records of others are not passed on", "crash-one"},
    {Mutant::wrong_incarnation, "wrong-incarnation", "deaths are told of an incarnation that was never", "crash-one"},
    {Mutant::no_anti_entropy, "no-anti-entropy", "peers never compare", "partition-half"},
    {Mutant::acks_lost, "acks-lost", "probes are answered to nobody", "crash-one"},
    {Mutant::eager_undertaker, "eager-undertaker", "one peer calls everybody it speaks of dead", "crash-one"},
    {Mutant::future_generation, "future-generation", "facts speak of lives that have not been", "crash-one"},
    {Mutant::packet_too_long, "packet-too-long", "datagrams are longer than they may be", "crash-one"},
    {Mutant::cluster_unchecked, "cluster-unchecked", "the cluster a datagram is of is not looked at", "gossip-forge"},
    {Mutant::replay_is_news, "replay-is-news", "what was heard before is taken for newer than it is", "gossip-replay"},
    {Mutant::control_behind_data, "control-behind-data", "membership's messages wait in the queue of data",
     "data-flood"},
    {Mutant::busy_is_failure, "busy-is-failure", "a busy answer counts as a failure of the replica", "load-spike"},
    {Mutant::client_error_is_failure, "client-error-is-failure", "a client's error counts as one of the replica",
     "client-errors"},
    {Mutant::receiver_trusts_ingress, "receiver-trusts-ingress", "a replica does not look whether it serves that model",
     "model-swap"},
    {Mutant::resume_repeats, "resume-repeats", "a stream that moves repeats a token, and its entry does not look",
     "kill-streams"},
    {Mutant::models_share_keys, "models-share-keys", "a segment's key does not say which model computed it",
     "hot-prefix"},
    {Mutant::tenants_share_salt, "tenants-share-salt", "all tenants' keys are salted alike", "hot-prefix"},
    {Mutant::mac_unchecked, "mac-unchecked", "segments are taken as they come, unverified", "bit-rot"},
    {Mutant::early_publish, "early-publish", "a segment is acknowledged before it is on the disk", "disk-stall"},
    {Mutant::values_unasked, "values-unasked", "what a peer has of a value is taken for the last version", "kv-values"},
    {Mutant::lost_repair, "lost-repair", "offers of a repair are never made", "rack-loss-during-repair"},
    {Mutant::links_decide, "links-decide", "a request without an answer waits for its link to break", "silent-host"},
    {Mutant::permits_leak, "permits-leak", "a place given back while the batch is full is sometimes lost",
     "load-spike"},
    {Mutant::names_by_id, "names-by-id", "the lower id keeps a name, whoever held it", "name-hung"},
    {Mutant::alone_decides, "alone-decides", "a peer alone after a restart changes keys for all", "keys-alone"},
    {Mutant::lookup_once, "lookup-once", "a seed's name is looked up once", "names-late"},
    {Mutant::links_flap, "links-flap", "a link that is known to be blocked is a suspicion each time", "link-pairs", 8},
});

}  // namespace

std::span<const MutantInfo> mutants() {
    return infos;
}

std::optional<Mutant> parse_mutant(std::string_view name) {
    const auto at = std::ranges::find(infos, name, &MutantInfo::name);
    if (at == infos.end()) return std::nullopt;
    return at->mutant;
}

}  // namespace exa::sim
