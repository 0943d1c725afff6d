#include "sim/checks/mutants.h"

#include <algorithm>
#include <array>
#include <utility>

#include "wire/gossip.h"

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
    {Mutant::receiver_trusts_entry, "receiver-trusts-entry", "a replica does not look whether it serves that model",
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
    {Mutant::places_leak, "places-leak", "a place given back while the batch is full is sometimes lost", "load-spike"},
});

// Everything but what `change` does to it stays as it was; what cannot be read passes as it is.
template <class Message, class Decode, class Change>
bool rewrite(Bytes& bytes, ClusterId cluster, Decode decode, Change change) {
    auto decoded = decode(ByteView(bytes), cluster);
    if (!decoded) return true;
    Message message = std::move(decoded).value();
    if (!change(message)) return false;
    if (auto encoded = wire::encode(message)) bytes = std::move(encoded).value();
    return true;
}

template <class Message>
bool change_facts(Mutant mutant, Host from, Message& message) {
    const PeerId sender = message.header.sender;
    switch (mutant) {
        case Mutant::lost_refutation:
            message.header.incarnation = Incarnation{0};
            std::erase_if(message.facts, [](const wire::Fact& fact) {
                return fact.state == wire::MemberState::alive && fact.incarnation.value > 0;
            });
            for (wire::RecordDelta& record : message.records) record.incarnation = Incarnation{0};
            break;
        case Mutant::deaf_to_bad_news:
            std::erase_if(message.facts, [](const wire::Fact& fact) {
                return fact.state == wire::MemberState::dead || fact.state == wire::MemberState::suspect;
            });
            break;
        case Mutant::silent_joiner:
            std::erase_if(message.records, [sender](const wire::RecordDelta& record) { return record.peer != sender; });
            break;
        case Mutant::wrong_incarnation:
            for (wire::Fact& fact : message.facts)
                if (fact.state == wire::MemberState::dead) ++fact.incarnation.value;
            break;
        case Mutant::eager_undertaker:
            if (from != 0) break;
            for (const wire::RecordDelta& record : message.records)
                if (record.peer != sender)
                    message.facts.push_back(
                        {record.peer, record.generation, record.incarnation, wire::MemberState::dead, sender});
            break;
        case Mutant::future_generation:
            for (wire::Fact& fact : message.facts) ++fact.generation.value;
            break;
        default:
            break;
    }
    return true;
}

// The others act elsewhere.
bool changes_messages(Mutant mutant) {
    switch (mutant) {
        case Mutant::none:
        case Mutant::generation_not_persisted:
        case Mutant::cluster_unchecked:
        case Mutant::replay_is_news:
        case Mutant::control_behind_data:
        case Mutant::busy_is_failure:
        case Mutant::client_error_is_failure:
        case Mutant::receiver_trusts_entry:
        case Mutant::places_leak:
            return false;
        default:
            return true;
    }
}

}  // namespace

std::span<const MutantInfo> mutants() {
    return infos;
}

std::optional<Mutant> parse_mutant(std::string_view name) {
    const auto at = std::ranges::find(infos, name, &MutantInfo::name);
    if (at == infos.end()) return std::nullopt;
    return at->mutant;
}

bool mutate(Mutant mutant, Host from, bool link, ClusterId cluster, Bytes& bytes) {
    if (!changes_messages(mutant)) return true;
    if (mutant == Mutant::packet_too_long) {
        if (!link) bytes.resize(wire::datagram_bytes_max + 1);
        return true;
    }
    if (link)
        return rewrite<wire::Sync>(bytes, cluster, &wire::decode_sync, [&](wire::Sync& sync) {
            if (mutant == Mutant::no_anti_entropy &&
                (sync.kind == wire::SyncKind::digest || sync.kind == wire::SyncKind::summary))
                return false;
            if (mutant == Mutant::no_indirect_probe && sync.kind == wire::SyncKind::ping) return false;
            if (mutant == Mutant::acks_lost && sync.kind == wire::SyncKind::ack) return false;
            return change_facts(mutant, from, sync);
        });
    return rewrite<wire::Packet>(bytes, cluster, &wire::decode_packet, [&](wire::Packet& packet) {
        if (mutant == Mutant::no_indirect_probe && packet.kind == wire::PacketKind::ping_request) return false;
        if (mutant == Mutant::acks_lost && packet.kind == wire::PacketKind::ack) return false;
        return change_facts(mutant, from, packet);
    });
}

void mutate_stranger(Mutant mutant, Origin origin, ClusterId cluster, Bytes& bytes) {
    if (mutant == Mutant::cluster_unchecked && origin == Origin::outsider) {
        rewrite<wire::Packet>(bytes, cluster_id(attacking_cluster), &wire::decode_packet, [&](wire::Packet& packet) {
            packet.header.cluster = cluster;
            return true;
        });
    } else if (mutant == Mutant::replay_is_news && origin == Origin::replayed) {
        rewrite<wire::Packet>(bytes, cluster, &wire::decode_packet, [](wire::Packet& packet) {
            ++packet.header.incarnation.value;
            for (wire::Fact& fact : packet.facts) ++fact.incarnation.value;
            return true;
        });
    }
}

}  // namespace exa::sim
