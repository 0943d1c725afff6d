// How a Membership finds out who lives: its own probes, probes for others, and dialling of seeds and of the dead.
#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "membership/membership.h"

namespace exa::membership {

namespace {

// For so long news may still be on its way.
constexpr int settle_intervals = 5;

}  // namespace

// Of ourselves it holds what others can know.
std::uint32_t Membership::roster_digest() const {
    const std::uint32_t own = Roster::digest_part(self(), record().generation, roster_.announced_version());
    return std::max(1U, roster_.live_digest() ^ own);
}

// News that misses one peer of many, as it must now and then, is missed until the two compare everything. So each ping
// says what its sender knows in four bytes: when that still differs although nothing has changed here for a moment,
// they compare now. Those who go on differing (a cut in one direction) do so more and more rarely.
void Membership::compare_rosters(TimePoint now, PeerId with, std::uint32_t theirs) {
    const std::uint32_t ours = roster_digest();
    if (std::exchange(settled_digest_, ours) != ours) settled_since_ = now;
    if (theirs == ours) {
        differs_wait_ = config_.probe_interval;
        // One of many knows all records that we do: so do nearly all, and who does not will show it by its ping.
        queue_.drop_backlog();
    }
    if (!joined_ || stage_ != Stage::member || theirs == ours || theirs == 0) return;
    if (now - settled_since_ < settle_intervals * config_.gossip_interval || now < differs_sync_until_) return;
    differs_sync_until_ = now + differs_wait_;
    differs_wait_ = std::min(2 * differs_wait_, config_.sync_interval);
    start_sync(now, with, false);
}

// A timer that comes late says that this process was stopped or starved: our own answers are late, and an answer to us
// may wait unread. That is a failure of our health and of nobody else's.
void Membership::notice_lateness(TimePoint now) {
    if (stage_ != Stage::member || timers_.next() > now - config_.probe_timeout / 2) return;
    prober_.note_lateness(config_);
    carry_out(now, suspicions_.postpone(step(now)));
}

void Membership::handle_ping(TimePoint now, const Endpoint& from, const wire::Packet& ping) {
    if (ping.target != PeerId{} && ping.target != self()) {
        ++counters_.misdirected;
        return;
    }
    prober_.hear_round(ping.round);
    compare_rosters(now, ping.header.sender, ping.roster);
    wire::Packet ack = make_packet(wire::PacketKind::ack, ping.seq, self());
    const Peer* sender = roster_.find(ping.header.sender);
    ack.introduce = sender == nullptr || sender->record->generation != ping.header.generation;
    send(now, from, ping.header.sender, std::move(ack), ping.introduce);
}

void Membership::probe_soon(TimePoint now, PeerId suspect) {
    if (stage_ == Stage::member) prober_.probe_soon(step(now), suspect);
}

// Asks whoever is there, and tells who we are.
void Membership::introduce(TimePoint now, const Endpoint& stranger) {
    wire::Packet ping = make_packet(wire::PacketKind::ping, numbers_.next(), PeerId{});
    ping.introduce = true;
    send(now, stranger, std::nullopt, std::move(ping), true);
}

void Membership::dial_seeds(TimePoint now) {
    for (const Endpoint& seed : seeds_) introduce(now, seed);
    timers_.set({TimerKind::seeds}, now + seed_wait_);
    seed_wait_ = std::min(seed_wait_ * 3 / 2, config_.seed_backoff_max);
}

// One of the dead and one address at which a member may be: a seed's, or that of a peer so long dead that it is
// forgotten. Their answers refute their deaths and start a comparison.
void Membership::redial(TimePoint now) {
    if (!roster_.dead().empty()) {
        const auto at =
            std::next(roster_.dead().begin(), static_cast<std::ptrdiff_t>(rng_.below(roster_.dead().size())));
        const PeerId id = at->second;
        send(now, roster_.find(id)->record->gossip, id, make_packet(wire::PacketKind::ping, numbers_.next(), id), true);
    }
    if (!joined_) return;
    if (strangers_of_ != roster_.live_version()) {
        std::set<Endpoint> strangers(seeds_.begin(), seeds_.end());
        strangers.insert(former_.begin(), former_.end());
        strangers.erase(record().gossip);
        for (const PeerId id : roster_.live()) strangers.erase(roster_.find(id)->record->gossip);
        const auto is_member = [&](const Endpoint& endpoint) { return !strangers.contains(endpoint); };
        std::erase_if(former_, is_member);
        strangers_ = seeds_;
        std::erase_if(strangers_, is_member);
        strangers_.insert(strangers_.end(), former_.begin(), former_.end());
        strangers_of_ = roster_.live_version();
    }
    if (strangers_.empty()) return;
    introduce(now, strangers_[rng_.below(strangers_.size())]);
}

}  // namespace exa::membership
