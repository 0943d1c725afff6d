#include "membership/outbox.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"

namespace exa::membership {

namespace {

// Outputs that nobody fetched; a driver that fetches them never comes near.
constexpr std::size_t transmits_max = 4096;
constexpr std::size_t syncs_max = 4096;
constexpr std::size_t events_max = 65536;
// In a small cluster the logarithm alone leaves little against loss.
constexpr std::uint32_t retransmits_min = 8;
// For the frame of a list with one record.
constexpr std::size_t record_room = 64;

template <class T>
std::optional<T> pop(std::deque<T>& queue) {
    if (queue.empty()) return std::nullopt;
    std::optional<T> front(std::move(queue.front()));
    queue.pop_front();
    return front;
}

// One more of `most`: true when the oldest had to go.
template <class T>
bool push_bounded(std::deque<T>& queue, T item, std::size_t most) {
    const bool is_full = queue.size() >= most;
    if (is_full) queue.pop_front();
    queue.push_back(std::move(item));
    return is_full;
}

// Of a packet or a link message that is about to leave.
template <class Message>
void break_on_purpose(Mutant mutant, Message& message) {
    const PeerId self = message.header.sender;
    if (mutant == Mutant::future_generation)
        for (wire::Fact& fact : message.facts) ++fact.generation.value;
    if (mutant == Mutant::silent_joiner)
        std::erase_if(message.records, [self](const auto& record) { return record.peer != self; });
}

}  // namespace

void Outbox::schedule(const Step& step) {
    if (updates_.has_urgent())
        step.timers.set_sooner({TimerKind::gossip}, std::max(step.now, last_gossip_ + step.config.gossip_interval));
    else if (updates_.has_soon())
        step.timers.set_sooner({TimerKind::gossip},
                               std::max(step.now, last_gossip_ + step.config.load_gossip_interval));
}

bool Outbox::gossip(const Step& step, const Contents& contents) {
    last_gossip_ = step.now;
    std::vector<PeerId> targets = step.roster.live();
    const std::size_t fanout = std::min<std::size_t>(step.config.gossip_fanout, targets.size());
    for (std::size_t i = 0; i < fanout && (updates_.has_urgent() || updates_.has_soon()); ++i) {
        std::swap(targets[i], targets[i + step.rng.below(targets.size() - i)]);
        send(step, contents,
             {step.roster.find(targets[i])->record->gossip, targets[i],
              make_packet(wire::PacketKind::gossip, 0, targets[i])});
    }
    // Alone there is nobody to tell: a peer that joins later asks for everything anyway.
    if (fanout == 0) updates_.clear();
    updates_.end_round();
    return updates_.records() > GossipQueue::records_backlog;
}

void Outbox::send(const Step& step, const Contents& contents, PacketOut out) {
    wire::Packet& packet = out.packet;
    packet.header = contents.header;
    if (out.to && *out.to != PeerId{}) {
        const Peer* peer = step.roster.find(*out.to);
        if (peer != nullptr && peer->liveness != Liveness::alive) packet.facts.push_back(Roster::fact(*peer));
    }
    std::size_t room = step.config.packet_bytes - wire::message_size_bound;
    if (out.with_record) {
        const PeerId self = step.roster.self();
        auto own = step.roster.delta(self, 0);
        if (wire::size_bound(*own) > room - record_room) own = step.roster.stub(self);
        packet.records.push_back(std::move(*own));
    }
    for (const auto& fact : packet.facts) room -= std::min(room, wire::size_bound(fact));
    for (const auto& record : packet.records) room -= std::min(room, wire::size_bound(record));
    const std::uint32_t budget = retransmits(step.config, step.roster.live_count());
    updates_.fill(step.now, step.roster, contents.loads, budget, room, packet);
    break_on_purpose(step.config.mutant, packet);
    auto bytes = wire::encode(packet);
    EXA_CHECK(bytes.has_value());
    if (step.config.mutant == Mutant::packet_too_long) bytes.value().resize(wire::datagram_bytes_max + 1);
    Transmit transmit{out.at, std::move(bytes).value(), out.to.value_or(PeerId{})};
    counts_.dropped += push_bounded(transmits_, std::move(transmit), transmits_max) ? 1 : 0;
    ++counts_.packets;
}

void Outbox::send(const Config& config, const Roster& roster, const wire::Header& header, SyncOut out) {
    out.sync.header = header;
    break_on_purpose(config.mutant, out.sync);
    auto bytes = wire::encode(out.sync);
    EXA_CHECK(bytes.has_value());
    const Peer* peer = roster.find(out.to);
    const wire::PeerRecord* record = peer != nullptr ? peer->record.get() : nullptr;
    SyncTransmit transmit{out.to, record != nullptr ? record->link : Endpoint{}, std::move(bytes).value(),
                          record != nullptr ? record->generation : Generation{}};
    counts_.dropped += push_bounded(syncs_, std::move(transmit), syncs_max) ? 1 : 0;
    ++counts_.syncs;
}

void Outbox::push(const Event& event) {
    counts_.dropped += push_bounded(events_, event, events_max) ? 1 : 0;
}

std::optional<Transmit> Outbox::poll_transmit() {
    return pop(transmits_);
}

std::optional<SyncTransmit> Outbox::poll_sync() {
    return pop(syncs_);
}

std::optional<Event> Outbox::poll_event() {
    return pop(events_);
}

std::uint32_t retransmits(const Config& config, std::size_t live) {
    const double digits = std::log10(static_cast<double>(live + 1));
    return std::max(retransmits_min, static_cast<std::uint32_t>(std::ceil(config.retransmit_factor * digits)));
}

}  // namespace exa::membership
