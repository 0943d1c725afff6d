#include "sim/report/describe_packet.h"

#include <fmt/format.h>

#include "base/ids.h"
#include "sim/cluster/cluster.h"
#include "wire/checksum.h"
#include "wire/gossip.h"
#include "wire/seal.h"

namespace exa::sim {

namespace {

constexpr const char* kinds[] = {"ping", "ack", "nack", "ping_request", "gossip"};
constexpr const char* sync_kinds[] = {"ping", "ack", "digest", "updates", "keys", "summary"};
constexpr const char* standings[] = {"alive", "suspect", "dead", "left"};

template <class Message>
std::string items(const Message& message) {
    std::string text;
    for (const wire::Fact& fact : message.facts)
        text += fmt::format("    fact    {} generation {} incarnation {} is {}{}\n", to_string(fact.subject),
                            fact.generation.value, fact.incarnation.value, standings[static_cast<int>(fact.state)],
                            fact.accuser.value != 0 ? " says " + to_string(fact.accuser) : "");
    for (const wire::RecordDelta& record : message.records)
        text += fmt::format("    record  {} generation {} versions {}..{}{}, {} replicas\n", to_string(record.peer),
                            record.generation.value, record.base, record.version,
                            record.profile ? " of " + record.profile->name : "", record.replicas.size());
    for (const wire::LoadGroup& load : message.loads)
        text += fmt::format("    loads   {} number {} part {}, {} reports\n", to_string(load.peer), load.number,
                            load.part, load.reports.size());
    return text;
}

}  // namespace

std::string describe_message(bool link, const Bytes& bytes) {
    if (link) {
        const auto sync = wire::decode_sync(bytes, Cluster::id());
        if (!sync) return fmt::format("    {} bytes: {}\n", bytes.size(), sync.error().message());
        const wire::Sync& message = sync.value();
        return fmt::format("    {} seq {} of {} generation {} incarnation {}, {} bytes, {} digest entries, {} wants\n",
                           sync_kinds[static_cast<int>(message.kind)], message.seq, to_string(message.header.sender),
                           message.header.generation.value, message.header.incarnation.value, bytes.size(),
                           message.digest.size(), message.pulls.size()) +
               items(message);
    }
    if (const auto seal = wire::decode_seal_header(bytes))
        return fmt::format("    {} bytes sealed with key {} by {} generation {}, its packet {}\n", bytes.size(),
                           to_string(seal.value().key), to_string(seal.value().sender), seal.value().generation.value,
                           seal.value().counter);
    const auto plain = wire::check_checksum(bytes);
    if (!plain) return fmt::format("    {} bytes: {}\n", bytes.size(), plain.error().message());
    const auto packet = wire::decode_packet(plain.value(), Cluster::id());
    if (!packet) return fmt::format("    {} bytes: {}\n", bytes.size(), packet.error().message());
    const wire::Packet& message = packet.value();
    return fmt::format("    {} seq {} of {} generation {} incarnation {} about {}, {} bytes\n",
                       kinds[static_cast<int>(message.kind)], message.seq, to_string(message.header.sender),
                       message.header.generation.value, message.header.incarnation.value, to_string(message.target),
                       bytes.size()) +
           items(message);
}

}  // namespace exa::sim
