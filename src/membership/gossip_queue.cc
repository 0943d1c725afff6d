#include "membership/gossip_queue.h"

#include <algorithm>

namespace exa::membership {

namespace {

// How far a class is searched for an update that still fits.
constexpr std::size_t skips_max = 4;
// Every peer that hears of a load sends it on this often, which reaches about 94 % of all; the next one comes soon.
constexpr std::uint32_t load_budget = 3;
constexpr std::size_t all_items = ~std::size_t{0};
// A fact whose every number is 0: no update is smaller.
constexpr std::size_t item_bytes_min = 12;

}  // namespace

struct GossipQueue::Filling {
    TimePoint now;
    const Roster& roster;
    const LoadTable& loads;
    std::uint32_t budget;
    // In a packet with nothing else in it.
    std::size_t room_max;
    wire::Packet& packet;
};

void GossipQueue::add_load(UpdateKey key, bool soon) {
    queues_[load].put(key);
    loads_soon_ = loads_soon_ || soon;
}

void GossipQueue::drop_state(PeerId peer) {
    queues_[record].drop(peer);
    queues_[load].drop(peer);
}

void GossipQueue::drop(PeerId peer) {
    for (BroadcastQueue& queue : queues_) queue.drop(peer);
}

void GossipQueue::drop_backlog() {
    if (records() > records_backlog) queues_[record].clear();
}

void GossipQueue::clear() {
    for (BroadcastQueue& queue : queues_) queue.clear();
    owed_.reset();
    loads_soon_ = false;
}

bool GossipQueue::empty() const {
    return std::ranges::all_of(queues_, &BroadcastQueue::empty);
}

std::size_t GossipQueue::size() const {
    std::size_t sum = 0;
    for (const BroadcastQueue& queue : queues_) sum += queue.size();
    return sum;
}

std::size_t GossipQueue::take(Class from, Filling& filling, std::size_t room, std::size_t items_max) {
    using Take = BroadcastQueue::Take;
    wire::Packet& packet = filling.packet;
    std::size_t used = 0;
    std::size_t items = 0;
    const auto fits = [&](std::size_t bytes) {
        if (items >= items_max || used + bytes > room) return false;
        used += bytes;
        ++items;
        return true;
    };
    const auto offer_fact = [&](UpdateKey key, std::uint64_t) {
        const Peer* peer = filling.roster.find(key.peer);
        if (peer == nullptr) return Take::drop;
        if (std::ranges::find(packet.facts, key.peer, &wire::Fact::subject) != packet.facts.end()) return Take::skip;
        const wire::Fact fact = Roster::fact(*peer);
        if (!fits(wire::size_bound(fact))) return Take::skip;
        packet.facts.push_back(fact);
        return Take::sent;
    };
    const auto offer_record = [&](UpdateKey key, std::uint64_t base) {
        if (std::ranges::find(packet.records, key.peer, &wire::RecordDelta::peer) != packet.records.end())
            return Take::skip;
        const Peer* peer = filling.roster.find(key.peer);
        const auto bytes = peer != nullptr ? filling.roster.delta_bytes(*peer, base) : std::nullopt;
        if (!bytes) return Take::drop;
        if (*bytes > filling.room_max) {
            auto stub = filling.roster.stub(key.peer);
            if (!fits(wire::size_bound(*stub))) return Take::skip;
            packet.records.push_back(std::move(*stub));
            return Take::sent;
        }
        if (!fits(*bytes)) return Take::skip;
        packet.records.push_back(*filling.roster.delta(*peer, base));
        return Take::sent;
    };
    const auto offer_load = [&](UpdateKey key, std::uint64_t) {
        const auto same = [&](const wire::LoadGroup& group) {
            return group.peer == key.peer && group.part == key.part;
        };
        if (std::ranges::any_of(packet.loads, same)) return Take::skip;
        auto group = filling.loads.group(filling.now, key);
        if (!group) return Take::drop;
        if (!fits(wire::size_bound(*group))) return Take::skip;
        packet.loads.push_back(std::move(*group));
        return Take::sent;
    };
    if (from == fact) queues_[fact].take(filling.budget, skips_max, offer_fact);
    if (from == record) queues_[record].take(filling.budget, skips_max, offer_record);
    if (from == load) queues_[load].take(std::min(filling.budget, load_budget), skips_max, offer_load);
    return used;
}

void GossipQueue::fill(TimePoint now, const Roster& roster, const LoadTable& loads, std::uint32_t budget,
                       std::size_t room, wire::Packet& packet) {
    Filling filling{now, roster, loads, budget, room, packet};
    std::size_t left = room;
    std::array<std::size_t, 3> used{};
    const auto take_some = [&](Class from, std::size_t share, std::size_t items_max) {
        if (queues_[from].empty() || std::min(left, share) < item_bytes_min) return;
        const std::size_t bytes = take(from, filling, std::min(left, share), items_max);
        used[from] += bytes;
        left -= bytes;
    };
    if (owed_) take_some(*owed_, left, 1);
    for (const Class from : {fact, record, load}) {
        const std::size_t share = room * share_percent[from] / 100;
        if (used[from] < share) take_some(from, share - used[from], all_items);
    }
    for (const Class from : {fact, record, load}) take_some(from, left, all_items);
    owed_.reset();
    for (const Class from : {fact, record, load})
        if (used[from] == 0 && !queues_[from].empty()) owed_ = from;
}

}  // namespace exa::membership
