#include "membership/membership.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/hash.h"
#include "membership/errc.h"
#include "wire/errc.h"

namespace exa::membership {

namespace {

// Outputs that nobody fetched; a drained owner never comes near.
constexpr std::size_t transmits_max = 4096;
constexpr std::size_t syncs_max = 4096;
constexpr std::size_t events_max = 65536;
// In a small cluster the logarithm alone leaves little against loss.
constexpr std::uint32_t retransmits_min = 8;
// One of them is enough to find the other side of a partition again.
constexpr std::size_t former_max = 1024;

// Nothing is on its way to be ready.
bool is_settled(const wire::PeerRecord& record) {
    return std::ranges::all_of(record.replicas, [](const wire::ReplicaRecord& replica) {
        return replica.state > wire::ReplicaState::warming;
    });
}

// True when something that others may use now is no longer there, or at another place.
bool takes_away(const wire::PeerRecord& before, const wire::PeerRecord& after) {
    if (wire::profile_of(before) != wire::profile_of(after)) return true;
    for (const wire::ReplicaRecord& replica : before.replicas) {
        if (replica.state != wire::ReplicaState::ready) continue;
        const auto at = std::ranges::lower_bound(after.replicas, replica.id, {}, &wire::ReplicaRecord::id);
        if (at == after.replicas.end() || *at != replica) return true;
    }
    return false;
}

std::uint32_t instance_of(Rng& rng) {
    return static_cast<std::uint32_t>(1 + rng.below(0xffffffff));
}

wire::PeerRecord first_edition(wire::PeerRecord record) {
    record.version = std::max<std::uint64_t>(record.version, 1);
    std::ranges::sort(record.replicas, {}, &wire::ReplicaRecord::id);
    return record;
}

template <class T>
std::optional<T> pop(std::deque<T>& queue) {
    if (queue.empty()) return std::nullopt;
    std::optional<T> front(std::move(queue.front()));
    queue.pop_front();
    return front;
}

}  // namespace

Membership::Membership(const Config& config, ClusterId cluster, const wire::PeerRecord& own, std::uint64_t seed,
                       TimePoint now, const std::shared_ptr<InternPool>& pool)
    : config_(config),
      cluster_(cluster),
      rng_(seed),
      instance_(instance_of(rng_)),
      roster_(now, first_edition(own), instance_, config.members_max, pool),
      loads_(pool),
      suspicions_(now),
      last_gossip_(now - config.gossip_interval),
      record_told_(now - std::chrono::hours{1}),
      record_wait_(config.record_interval),
      join_sync_until_(now),
      heal_sync_until_(now),
      settled_since_(now),
      differs_sync_until_(now),
      differs_wait_(config.probe_interval),
      sync_wait_(config.probe_interval) {
    EXA_CHECK(validate(config).has_value());
    EXA_CHECK(wire::check_record(record()).has_value());
    // Peers that start together must not probe and compare in step.
    timers_.set({TimerKind::probe}, now + Duration{static_cast<Duration::rep>(
                                              rng_.below(static_cast<std::uint64_t>(config_.probe_interval.count())))});
    timers_.set({TimerKind::sync}, now + next_sync_wait());
    timers_.set({TimerKind::redial}, now + config_.redial_interval);
}

std::shared_ptr<const View> Membership::view() {
    if (!view_stale_ && view_->alarms == alarms()) return view_;
    auto view = std::make_shared<View>();
    view->number = ++view_number_;
    view->self = self();
    view->alarms = alarms();
    view->members = roster_.members();
    view->loads = loads_.by_peer();
    view_ = std::move(view);
    view_stale_ = false;
    return view_;
}

Result<void> Membership::handle_packet(TimePoint now, const Endpoint& from, ByteView bytes) {
    if (stage_ == Stage::over) return success();
    ++counters_.packets_in;
    auto decoded = wire::decode_packet(bytes, cluster_);
    if (decoded.has_error()) {
        count(decoded.error());
        return std::move(decoded).error();
    }
    const wire::Packet& packet = decoded.value();
    if (packet.header.sender == self()) {
        // A seed that is ourselves: not worth another try.
        if (meet_self(packet.header) && std::erase(seeds_, from) != 0) {
            strangers_of_ = 0;
            if (seeds_.empty()) join(now, {});
        }
        return success();
    }
    const auto is_known_live = [&] {
        const Peer* peer = roster_.find(packet.header.sender);
        return peer != nullptr && peer->is_live();
    };
    const bool was_live = is_known_live();
    meet_successor(now, packet);
    if (!meet(now, packet.header)) {
        // It may not know that its instance is over, or taken: our fact and record tell it.
        wire::Packet reply = make_packet(wire::PacketKind::gossip, 0, packet.header.sender);
        reply.facts.push_back(roster_.fact(packet.header.sender));
        if (auto stub = roster_.stub(packet.header.sender)) reply.records.push_back(std::move(*stub));
        if (packet.kind != wire::PacketKind::gossip) send(now, from, std::nullopt, std::move(reply), false);
        return success();
    }
    const PeerId sender = packet.header.sender;
    merge(now, packet, false);
    if (stage_ == Stage::over) return success();
    settle(now, sender, packet.header);
    correct(now, from, sender);
    switch (packet.kind) {
        case wire::PacketKind::ping:
            handle_ping(now, from, packet);
            break;
        case wire::PacketKind::ping_request:
            if (stage_ == Stage::member) carry_out(now, prober_.handle_request(step(now), from, packet));
            break;
        case wire::PacketKind::ack:
            carry_out(now, prober_.handle_ack(step(now), packet.target, packet.seq, Prober::Path::datagram));
            if (packet.introduce) send(now, from, sender, make_packet(wire::PacketKind::gossip, 0, sender), true);
            break;
        case wire::PacketKind::nack:
            prober_.handle_nack(packet);
            break;
        case wire::PacketKind::gossip:
            break;
    }
    if (stage_ == Stage::member && is_known_live()) {
        if (!joined_ && now >= join_sync_until_) {
            join_sync_until_ = now + config_.pull_timeout;
            start_sync(now, sender, true);
        } else if (joined_ && !was_live && packet.kind == wire::PacketKind::ack && now >= heal_sync_until_) {
            // Found again through a seed or a redial: most likely a whole side of the cluster with it.
            heal_sync_until_ = now + config_.probe_interval;
            start_sync(now, sender, false);
            sync_sooner(now);
        }
    }
    send_wants();
    return success();
}

Result<void> Membership::handle_sync(TimePoint now, PeerId from, ByteView bytes) {
    if (stage_ == Stage::over) return success();
    ++counters_.syncs_in;
    auto decoded = wire::decode_sync(bytes, cluster_);
    if (decoded.has_error()) {
        count(decoded.error());
        return std::move(decoded).error();
    }
    const wire::Sync& sync = decoded.value();
    if (sync.header.sender != from) {
        ++counters_.malformed;
        return error(errc::not_the_sender, to_string(sync.header.sender));
    }
    if (from == self()) {
        meet_self(sync.header);
        return success();
    }
    if (!meet(now, sync.header)) return success();
    merge(now, sync, true);
    if (stage_ == Stage::over) return success();
    settle(now, from, sync.header);
    switch (sync.kind) {
        case wire::SyncKind::ping: {
            wire::Sync ack;
            ack.kind = wire::SyncKind::ack;
            ack.seq = sync.seq;
            send_sync(from, ack);
            break;
        }
        case wire::SyncKind::ack:
            carry_out(now, prober_.handle_ack(step(now), from, sync.seq, Prober::Path::link));
            break;
        case wire::SyncKind::digest:
            compare_digest(now, sync);
            compare_keys(sync);
            break;
        case wire::SyncKind::summary:
            compare_summary(now, sync);
            compare_keys(sync);
            break;
        case wire::SyncKind::keys:
            take_keys(sync);
            break;
        case wire::SyncKind::updates:
            answer_wants(from, sync.pulls, 0, false, {}, now);
            if (!joined_ && join_seq_ != 0 && sync.seq == join_seq_ && !sync.more) {
                joined_ = true;
                timers_.cancel({TimerKind::seeds});
                sync_sooner(now);
                emit(EventKind::joined_cluster, self());
            }
            break;
    }
    send_wants();
    return success();
}

void Membership::handle_link_broken(TimePoint now, PeerId id, Generation generation) {
    const Peer* peer = roster_.find(id);
    if (stage_ != Stage::member || id == self() || peer == nullptr || !peer->is_live()) return;
    if (generation != Generation{} && generation != peer->record->generation) return;
    accuse(now, id);
    probe_soon(now, id);
}

void Membership::handle_timeout(TimePoint now) {
    notice_lateness(now);
    while (const auto key = timers_.take_due(now)) timeout(now, *key);
    send_wants();
}

void Membership::timeout(TimePoint now, TimerKey key) {
    const PeerId id{key.of};
    const Peer* peer = roster_.find(id);
    switch (key.kind) {
        case TimerKind::probe:
            carry_out(now, prober_.finish(step(now)));
            carry_out(now, prober_.start(step(now)));
            break;
        case TimerKind::probe_timeout:
            carry_out(now, prober_.ask_others(step(now)));
            break;
        case TimerKind::gossip:
            gossip(now);
            break;
        case TimerKind::sync:
            if (!roster_.live().empty()) start_sync(now, roster_.live()[rng_.below(roster_.live().size())], false);
            timers_.set({TimerKind::sync}, now + next_sync_wait());
            break;
        case TimerKind::redial:
            redial(now);
            timers_.set({TimerKind::redial}, now + config_.redial_interval);
            break;
        case TimerKind::seeds:
            dial_seeds(now);
            break;
        case TimerKind::loads:
            tell_loads(now);
            break;
        case TimerKind::record:
            tell_record(now);
            break;
        case TimerKind::leave:
            emit(EventKind::left_cluster, self());
            stop();
            break;
        case TimerKind::suspicion:
            switch (suspicions_.due(id)) {
                case SuspicionTable::Due::nothing:
                    break;
                case SuspicionTable::Due::ask:
                    carry_out(now, suspicions_.ask_last(step(now), id));
                    break;
                case SuspicionTable::Due::verdict:
                    judge_dead(now, id, peer->incarnation, self());
                    break;
            }
            break;
        case TimerKind::rack:
            mark_deferred_dead(now, suspicions_.take_overdue(step(now), key.of));
            break;
        case TimerKind::lost:
            mark_lost(now, id);
            break;
        case TimerKind::forget:
            if (peer == nullptr || peer->is_live()) break;
            if (peer->liveness == Liveness::left && !peer->out_of_view) {
                roster_.take_out_of_view(id);
                timers_.set(key, now + config_.left_retention);
                view_stale_ = true;
                emit(EventKind::forgotten, id);
            } else {
                forget(id);
            }
            break;
        case TimerKind::indirect_probe:
            carry_out(now, prober_.indirect_timeout(step(now), key.of));
            break;
    }
}

void Membership::join(TimePoint now, std::vector<Endpoint> seeds) {
    if (stage_ != Stage::member) return;
    std::erase(seeds, record().gossip);
    seeds_ = std::move(seeds);
    strangers_of_ = 0;
    if (joined_) {
        for (const Endpoint& seed : seeds_) introduce(now, seed);
        return;
    }
    if (seeds_.empty()) {
        joined_ = true;
        timers_.cancel({TimerKind::seeds});
        emit(EventKind::joined_cluster, self());
        return;
    }
    seed_wait_ = config_.seed_backoff;
    timers_.set({TimerKind::seeds}, now);
}

Result<void> Membership::leave(TimePoint now) {
    if (stage_ != Stage::member) return error(errc::left);
    stage_ = Stage::leaving;
    roster_.set_liveness(now, self(), Liveness::left, incarnation());
    view_stale_ = true;
    prober_.pause();
    for (const TimerKind kind : {TimerKind::probe, TimerKind::probe_timeout, TimerKind::sync, TimerKind::redial,
                                 TimerKind::seeds, TimerKind::loads, TimerKind::record})
        timers_.cancel({kind});
    queue_.drop(self());
    queue_.add_fact(self());
    news(now);
    timers_.set({TimerKind::leave}, now + config_.leave_propagation);
    return success();
}

Result<void> Membership::set_record(TimePoint now, wire::PeerRecord next) {
    if (stage_ == Stage::over) return error(errc::left);
    std::ranges::sort(next.replicas, {}, &wire::ReplicaRecord::id);
    next.version = record().version;
    if (next.id != self() || next.generation != record().generation)
        return error(errc::invalid_record, "another peer's or instance's");
    if (auto checked = wire::check_record(next); checked.has_error())
        return error(errc::invalid_record, checked.error().message());
    if (next == record()) return success();
    const bool urgent = takes_away(record(), next) || (!is_settled(record()) && is_settled(next));
    roster_.set_self(next);
    view_stale_ = true;
    check_name(self());
    if (urgent || now >= record_told_ + record_wait_)
        tell_record(now);
    else
        timers_.set_sooner({TimerKind::record}, record_told_ + record_wait_);
    return success();
}

void Membership::tell_record(TimePoint now) {
    const bool goes_on = now < record_told_ + 2 * record_wait_;
    record_wait_ = goes_on ? std::min(2 * record_wait_, config_.record_interval_max) : config_.record_interval;
    record_told_ = now;
    timers_.cancel({TimerKind::record});
    queue_.add_record(self(), roster_.announced_version());
    roster_.announce_self();
    news(now);
}

void Membership::set_loads(TimePoint now, std::span<const wire::LoadReport> reports) {
    if (stage_ != Stage::member) return;
    std::vector<wire::LoadReport> own;
    for (wire::LoadReport report : reports) {
        if (report.replica.peer != self()) continue;
        report.kv_used_permille = std::min<std::uint16_t>(report.kv_used_permille, 1000);
        own.push_back(report);
    }
    loads_.set_own(now, self(), record().generation, own);
    view_stale_ = true;
    tell_loads(now);
}

LoadReportRule Membership::load_report_rule(const wire::PeerRecord& of) const {
    const double stretch = std::max(1.0, static_cast<double>(roster_.live_count()) / 256.0);
    const auto stretched = [&](Duration wait, double by) {
        return Duration{static_cast<Duration::rep>(static_cast<double>(wait.count()) * stretch * by)};
    };
    // Peers that started together do not all tell at once.
    const double spread = 0.75 + static_cast<double>(hash64(self().value, 0) >> 54) / 2048;
    return {of.replicas, config_.load_change, config_.load_floor, stretched(config_.load_interval, 1),
            stretched(config_.load_interval_max, spread)};
}

void Membership::tell_loads(TimePoint now) {
    const LoadReportRule rule = load_report_rule(record());
    for (const auto& [key, own] : loads_.take_own_updates(now, self(), rule))
        queue_.add_load(key, own == LoadChange::soon);
    if (const auto due = loads_.own_update_due(self(), rule))
        timers_.set({TimerKind::loads}, *due);
    else
        timers_.cancel({TimerKind::loads});
    news(now);
}

std::optional<Transmit> Membership::poll_transmit() {
    return pop(transmits_);
}

std::optional<SyncTransmit> Membership::poll_sync() {
    return pop(syncs_);
}

std::optional<Event> Membership::poll_event() {
    return pop(events_);
}

Counters Membership::counters() const {
    Counters counters = counters_;
    counters.probes = prober_.probes();
    counters.probes_failed = prober_.probes_failed();
    return counters;
}

void Membership::carry_out(TimePoint now, Effects effects) {
    for (PacketOut& out : effects.packets) send(now, out.at, out.to, std::move(out.packet), out.introduce);
    for (SyncOut& out : effects.syncs) send_sync(out.to, std::move(out.sync));
    for (const Notice& notice : effects.notices) emit(notice.kind, notice.peer, notice.other, notice.refuse);
    for (const PeerId peer : effects.accused) accuse(now, peer);
}

void Membership::accuse(TimePoint now, PeerId id) {
    const Peer& peer = *roster_.find(id);
    if (peer.liveness == Liveness::alive)
        suspect(now, id, peer.incarnation, self());
    else
        confirm(now, id, self());
}

void Membership::suspect(TimePoint now, PeerId id, Incarnation incarnation, PeerId accuser) {
    roster_.set_liveness(now, id, Liveness::suspect, incarnation, accuser);
    suspicions_.start(step(now), id, accuser);
    view_stale_ = true;
    queue_.add_fact(id);
    news(now);
    emit(EventKind::suspect, id, accuser);
    for (const PeerId peer : suspicions_.rack_probes(step(now), roster_.find(id)->record->rack)) probe_soon(now, peer);
}

void Membership::confirm(TimePoint now, PeerId id, PeerId accuser) {
    if (!suspicions_.confirm(step(now), id, accuser)) return;
    roster_.set_accuser(id, accuser);
    queue_.add_fact(id);
    news(now);
}

void Membership::judge_dead(TimePoint now, PeerId id, Incarnation incarnation, PeerId accuser) {
    if (!suspicions_.is_deferrable(step(now), id)) {
        mark_dead(now, id, incarnation, accuser);
        return;
    }
    const bool was_alive = roster_.find(id)->liveness == Liveness::alive;
    roster_.set_liveness(now, id, Liveness::suspect, incarnation, accuser);
    suspicions_.defer(step(now), id);
    view_stale_ = true;
    if (was_alive) emit(EventKind::suspect, id, accuser);
    settle_rack(now, roster_.find(id)->record->rack);
}

void Membership::settle_rack(TimePoint now, const std::string& rack) {
    mark_deferred_dead(now, suspicions_.take_decided(step(now), rack));
}

void Membership::mark_deferred_dead(TimePoint now, const std::vector<PeerId>& peers) {
    if (peers.size() > 1) emit(EventKind::rack_down, peers.front());
    for (const PeerId id : peers) {
        const Peer& peer = *roster_.find(id);
        mark_dead(now, id, peer.incarnation, peer.accuser);
    }
}

void Membership::mark_dead(TimePoint now, PeerId id, Incarnation incarnation, PeerId accuser) {
    timers_.cancel({TimerKind::suspicion, id.value});
    timers_.set({TimerKind::lost, id.value}, now + config_.lost_after);
    suspicions_.end(id);
    roster_.set_liveness(now, id, Liveness::dead, incarnation, accuser);
    loads_.drop(id);
    view_stale_ = true;
    queue_.drop_state(id);
    queue_.add_fact(id);
    news(now);
    emit(EventKind::dead, id, accuser);
    keep_gone_bounded();
}

void Membership::mark_lost(TimePoint now, PeerId id) {
    const Peer* peer = roster_.find(id);
    if (peer == nullptr || peer->liveness != Liveness::dead) return;
    const bool was_held = losses_.is_held();
    const bool held = losses_.update(roster_);
    if (held != was_held) emit(held ? EventKind::losses_held : EventKind::losses_released, self());
    if (held && !LossHold::is_replaced(roster_, id)) {
        timers_.set({TimerKind::lost, id.value}, now + config_.lost_after / 6);
        return;
    }
    roster_.set_liveness(now, id, Liveness::lost, peer->incarnation, peer->accuser);
    timers_.set({TimerKind::forget, id.value}, now + config_.lost_retention);
    view_stale_ = true;
    emit(EventKind::lost, id);
}

void Membership::mark_alive(TimePoint now, PeerId id, Incarnation incarnation) {
    const Liveness before = roster_.find(id)->liveness;
    suspicions_.end(id);
    roster_.set_liveness(now, id, Liveness::alive, incarnation);
    for (const TimerKind kind : {TimerKind::suspicion, TimerKind::lost, TimerKind::forget})
        timers_.cancel({kind, id.value});
    view_stale_ = true;
    queue_.add_fact(id);
    news(now);
    if (before == Liveness::alive) return;
    emit(EventKind::alive, id);
    if (before == Liveness::suspect)
        settle_rack(now, roster_.find(id)->record->rack);
    else
        check_name(id);
}

void Membership::mark_left(TimePoint now, PeerId id, Incarnation incarnation) {
    for (const TimerKind kind : {TimerKind::suspicion, TimerKind::lost}) timers_.cancel({kind, id.value});
    timers_.set({TimerKind::forget, id.value}, now + config_.left_retention);
    suspicions_.end(id);
    roster_.set_liveness(now, id, Liveness::left, incarnation);
    loads_.drop(id);
    view_stale_ = true;
    queue_.drop_state(id);
    queue_.add_fact(id);
    news(now);
    emit(EventKind::left, id);
    settle_rack(now, roster_.find(id)->record->rack);
    keep_gone_bounded();
}

void Membership::forget(PeerId id) {
    suspicions_.end(id);
    for (const TimerKind kind : {TimerKind::suspicion, TimerKind::lost, TimerKind::forget})
        timers_.cancel({kind, id.value});
    const Peer& peer = *roster_.find(id);
    const bool shown = !peer.out_of_view;
    if (peer.liveness != Liveness::left) {
        std::erase(former_, peer.record->gossip);
        if (former_.size() >= former_max) former_.pop_front();
        former_.push_back(peer.record->gossip);
        strangers_of_ = 0;
    }
    queue_.drop(id);
    loads_.drop(id);
    if (shown) emit(EventKind::forgotten, id);
    roster_.forget(id);
    view_stale_ = true;
}

void Membership::keep_gone_bounded() {
    while (const auto oldest = roster_.oldest_tombstone(config_.tombstones_max)) forget(*oldest);
}

// Of two live holders of one name the one that is still starting yields, or else the one with the higher id: both see
// the same two records and so agree.
void Membership::check_name(PeerId id) {
    const auto other = roster_.namesake(id);
    if (!other) return;
    const auto rank = [&](PeerId peer) {
        return std::pair(roster_.find(peer)->record->state == wire::PeerState::starting, peer);
    };
    const PeerId yields = std::max(rank(id), rank(*other)).second;
    const PeerId holder = yields == id ? *other : id;
    emit(EventKind::name_conflict, yields, holder, yields == self());
}

wire::Header Membership::header() const {
    const Peer& peer = roster_.own();
    return {cluster_, self(), peer.record->generation, peer.incarnation, roster_.announced_version(), instance_};
}

void Membership::send(TimePoint now, const Endpoint& at, std::optional<PeerId> to, wire::Packet packet,
                      bool introduce_us) {
    packet.header = header();
    if (packet.kind == wire::PacketKind::ping) {
        packet.round = prober_.round();
        packet.roster = roster_digest();
    }
    if (to && *to != PeerId{}) {
        const Peer* peer = roster_.find(*to);
        if (peer != nullptr && peer->liveness != Liveness::alive) packet.facts.push_back(Roster::fact(*peer));
    }
    std::size_t room = config_.packet_bytes - wire::message_size_bound;
    if (introduce_us) {
        auto own = roster_.delta(self(), 0);
        if (wire::size_bound(*own) > room - 64) own = roster_.stub(self());
        packet.records.push_back(std::move(*own));
    }
    for (const auto& fact : packet.facts) room -= std::min(room, wire::size_bound(fact));
    for (const auto& record : packet.records) room -= std::min(room, wire::size_bound(record));
    queue_.fill(now, roster_, loads_, retransmits(), room, packet);
    auto bytes = wire::encode(packet);
    EXA_CHECK(bytes.has_value());
    if (transmits_.size() >= transmits_max) {
        transmits_.pop_front();
        ++counters_.dropped;
    }
    transmits_.push_back({at, std::move(bytes).value(), to.value_or(PeerId{})});
    ++counters_.packets_out;
}

void Membership::send_sync(PeerId to, wire::Sync sync) {
    sync.header = header();
    auto bytes = wire::encode(sync);
    EXA_CHECK(bytes.has_value());
    if (syncs_.size() >= syncs_max) {
        syncs_.pop_front();
        ++counters_.dropped;
    }
    const Peer* peer = roster_.find(to);
    const wire::PeerRecord* record = peer != nullptr ? peer->record.get() : nullptr;
    syncs_.push_back({to, record != nullptr ? record->link : Endpoint{}, std::move(bytes).value(),
                      record != nullptr ? record->generation : Generation{}});
    ++counters_.syncs_out;
}

// News waits at most until the next gossip interval; in a quiet cluster it leaves at once. Small changes of load ride
// with probes and their answers.
void Membership::news(TimePoint now) {
    if (queue_.has_urgent())
        timers_.set_sooner({TimerKind::gossip}, std::max(now, last_gossip_ + config_.gossip_interval));
    else if (queue_.has_soon())
        timers_.set_sooner({TimerKind::gossip}, std::max(now, last_gossip_ + config_.load_gossip_interval));
}

void Membership::gossip(TimePoint now) {
    last_gossip_ = now;
    std::vector<PeerId> targets = roster_.live();
    const std::size_t fanout = std::min<std::size_t>(config_.gossip_fanout, targets.size());
    for (std::size_t i = 0; i < fanout && (queue_.has_urgent() || queue_.has_soon()); ++i) {
        std::swap(targets[i], targets[i + rng_.below(targets.size() - i)]);
        send(now, roster_.find(targets[i])->record->gossip, targets[i],
             make_packet(wire::PacketKind::gossip, 0, targets[i]), false);
    }
    // Alone there is nobody to tell: who joins later asks for everything anyway.
    if (fanout == 0) queue_.clear();
    queue_.end_round();
    // So much would take seconds this way; comparisons bring each peer each record once.
    if (queue_.records() > GossipQueue::records_backlog && sync_wait_ > config_.probe_interval) sync_sooner(now);
    news(now);
}

void Membership::emit(EventKind kind, PeerId peer, PeerId other, bool refuse) {
    const Peer* known = roster_.find(peer);
    push({kind, peer, known != nullptr ? known->record->generation : Generation{}, other, refuse,
          known != nullptr ? known->incarnation : Incarnation{}, known != nullptr ? known->instance : 0});
}

void Membership::push(const Event& event) {
    if (events_.size() >= events_max) {
        events_.pop_front();
        ++counters_.dropped;
    }
    events_.push_back(event);
}

void Membership::count(const Error& error) {
    if (error.code == wire::errc::wrong_cluster)
        ++counters_.wrong_cluster;
    else if (error.code == wire::errc::wrong_version)
        ++counters_.wrong_version;
    else
        ++counters_.malformed;
}

std::uint32_t Membership::retransmits() const {
    const double digits = std::log10(static_cast<double>(roster_.live_count() + 1));
    return std::max(retransmits_min, static_cast<std::uint32_t>(std::ceil(config_.retransmit_factor * digits)));
}

// Stretched by 1 + log2(n / 32), and spread over +-10 % so that peers do not fall into step.
Duration Membership::next_sync_wait() {
    const double stretch = 1 + std::log2(std::max(1.0, static_cast<double>(roster_.live_count()) / 32.0));
    const double period = static_cast<double>(config_.sync_interval.count()) * stretch;
    const double wait = std::min(static_cast<double>(sync_wait_.count()), period);
    sync_wait_ = Duration{static_cast<Duration::rep>(std::min(2 * wait, period))};
    return Duration{static_cast<Duration::rep>(wait * (0.9 + 0.2 * rng_.unit()))};
}

// Just after a join or a heal much is on its way that nobody will send us again, so the waits grow from a short one.
void Membership::sync_sooner(TimePoint now) {
    sync_wait_ = config_.probe_interval / 4;
    timers_.set({TimerKind::sync}, now + next_sync_wait());
}

void Membership::stop() {
    stage_ = Stage::over;
    timers_.clear();
    queue_.clear();
    wants_.clear();
    prober_.stop();
}

}  // namespace exa::membership
