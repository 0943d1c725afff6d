#include "membership/membership.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/hash.h"
#include "membership/digest_comparison.h"
#include "membership/errc.h"
#include "wire/errc.h"

namespace exa::membership {

namespace {

std::uint32_t instance_of(Rng& rng) {
    return static_cast<std::uint32_t>(1 + rng.below(0xffffffff));
}

// A support that is told alone must have become wrong by far.
bool is_support_outgrown(const wire::PeerRecord& record, std::uint16_t support) {
    return record.name_claim != 0 && support / 4 >= record.name_support;
}

wire::PeerRecord first_version(wire::PeerRecord record) {
    record.version = std::max<std::uint64_t>(record.version, 1);
    std::ranges::sort(record.replicas, {}, &wire::ReplicaRecord::id);
    return record;
}

}  // namespace

Membership::Membership(const Config& config, ClusterId cluster, const wire::PeerRecord& own, std::uint64_t seed,
                       TimePoint now, const std::shared_ptr<InternPool>& pool)
    : config_(config),
      cluster_(cluster),
      rng_(seed),
      roster_(now, first_version(own), instance_of(rng_), config.members_max, pool),
      loads_(pool),
      suspicions_(now),
      anti_entropy_(now, config),
      bootstrap_(now),
      pacer_(now, config),
      outbox_(now - config.gossip_interval) {
    EXA_CHECK(validate(config).has_value());
    EXA_CHECK(wire::check_record(record()).has_value());
    // Peers that start together must not probe and compare in step.
    timers_.set({TimerKind::probe}, now + Duration{static_cast<Duration::rep>(
                                              rng_.below(static_cast<std::uint64_t>(config_.probe_interval.count())))});
    anti_entropy_.schedule(step(now));
    timers_.set({TimerKind::redial}, now + config_.redial_interval);
}

Alarms Membership::alarms() const {
    return {.losses_held = losses_.is_held(),
            .udp_blocked = prober_.is_udp_blocked(),
            .alone_with_seeds = bootstrap_.is_alone(),
            .seed_silent = bootstrap_.has_silent_seed(),
            .name_holder = record().name_claim == 0 ? name_.asked() : PeerId{}};
}

Counters Membership::counters() const {
    Counters counters = counters_;
    counters.packets_out = outbox_.counts().packets;
    counters.syncs_out = outbox_.counts().syncs;
    counters.dropped = outbox_.counts().dropped;
    counters.probes = prober_.probes();
    counters.probes_failed = prober_.probes_failed();
    return counters;
}

Sizes Membership::sizes() const {
    return {.peers = roster_.size(),
            .tombstones = roster_.dead().size(),
            .updates = outbox_.updates().size(),
            .timers = timers_.size(),
            .indirect_probes = prober_.indirect_probes(),
            .asked = pulls_.asked(),
            .pulls = pulls_.waiting(),
            .challenges = identity_.size()};
}

std::shared_ptr<const View> Membership::view() {
    if (!view_stale_ && view_->alarms == alarms() && view_->is_cut_off == prober_.is_cut_off()) return view_;
    auto view = std::make_shared<View>();
    view->number = ++view_number_;
    view->self = self();
    view->alarms = alarms();
    view->is_cut_off = prober_.is_cut_off();
    view->members = roster_.members();
    view->loads = loads_.by_peer();
    view->broken = channels_.broken();
    view_ = std::move(view);
    view_stale_ = false;
    return view_;
}

bool Membership::is_live(PeerId id) const {
    const Peer* peer = roster_.find(id);
    return peer != nullptr && peer->is_live();
}

Result<void> Membership::handle_packet(TimePoint now, const Endpoint& from, ByteView bytes) {
    if (stage_ == Stage::over) return success();
    ++counters_.packets_in;
    auto decoded = wire::decode_packet(bytes, cluster_, config_.mutant);
    if (decoded.has_error()) {
        count(decoded.error());
        return std::move(decoded).error();
    }
    const wire::Packet& packet = decoded.value();
    const PeerId sender = packet.header.sender;
    if (sender == self()) {
        handle_own_packet(now, from, packet.header);
        return success();
    }
    const bool was_live = is_live(sender);
    if (identity_.is_successor(roster_, packet)) replace_instance(now, packet.header);
    if (!accept_sender(now, packet.header)) {
        if (packet.kind != wire::PacketKind::gossip) answer_earlier_instance(now, from, sender);
        return success();
    }
    prober_.hear(step(now));
    Source source{now, sender, false, {}};
    merge(source, packet);
    if (stage_ == Stage::over) return success();
    merge_version(source, packet.header);
    correct(source, from);
    if (is_live(sender)) carry_out(now, channels_.hear(step(now), sender, packet.cannot_link));
    handle_content(now, from, packet);
    if (stage_ == Stage::member && is_live(sender)) {
        if (bootstrap_.take_join_sync(step(now))) {
            start_sync(now, sender, true);
        } else if (!was_live && packet.kind == wire::PacketKind::ack && bootstrap_.take_heal_sync(step(now))) {
            start_sync(now, sender, false);
            anti_entropy_.reset_wait(step(now));
        }
    }
    send_all(pulls_.take());
    claim_name(now);
    return success();
}

void Membership::handle_own_packet(TimePoint now, const Endpoint& from, const wire::Header& header) {
    if (check_own(now, PeerId{}, header.generation, header.instance) && stage_ == Stage::member)
        carry_out(now, bootstrap_.drop_own_address(step(now), from));
}

void Membership::handle_content(TimePoint now, const Endpoint& from, const wire::Packet& packet) {
    switch (packet.kind) {
        case wire::PacketKind::ping:
            handle_ping(now, from, packet);
            break;
        case wire::PacketKind::ping_request:
            if (stage_ == Stage::member) carry_out(now, prober_.handle_request(step(now), from, packet));
            break;
        case wire::PacketKind::ack: {
            const PeerId sender = packet.header.sender;
            bootstrap_.hear(now, from);
            if (name_.is_confirmed(roster_, packet)) refuse_name(sender);
            const bool is_its_own = packet.target == sender;
            if (is_its_own) carry_out(now, channels_.note_direct_answer(step(now), sender));
            carry_out(now, prober_.handle_ack(step(now), packet.target, packet.seq,
                                              is_its_own ? Prober::Path::datagram : Prober::Path::helper));
            if (packet.want_record) send(now, {from, sender, make_packet(wire::PacketKind::gossip, 0, sender), true});
            break;
        }
        case wire::PacketKind::nack:
            prober_.handle_nack(packet);
            break;
        case wire::PacketKind::gossip:
            break;
    }
}

void Membership::handle_ping(TimePoint now, const Endpoint& from, const wire::Packet& ping) {
    if (ping.target != PeerId{} && ping.target != self()) {
        ++counters_.misdirected;
        return;
    }
    const PeerId from_id = ping.header.sender;
    prober_.hear_round(ping.round);
    const bool is_member = bootstrap_.is_joined() && stage_ == Stage::member;
    const auto check = anti_entropy_.check_roster(step(now), ping.roster, roster_hash(), is_member);
    // One of many knows all records that we do: so do nearly all, and a peer that does not will show it by its ping.
    if (check.same) outbox_.updates().drop_backlog();
    if (check.sync_now) start_sync(now, from_id, false);
    wire::Packet ack = make_packet(wire::PacketKind::ack, ping.seq, self());
    const Peer* sender = roster_.find(from_id);
    ack.want_record = sender == nullptr || sender->record->generation != ping.header.generation;
    send(now, {from, from_id, std::move(ack), ping.want_record});
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
        check_own(now, PeerId{}, sync.header.generation, sync.header.instance);
        return success();
    }
    if (!accept_sender(now, sync.header)) return success();
    Source source{now, from, true, {}};
    merge(source, sync);
    if (stage_ == Stage::over) return success();
    merge_version(source, sync.header);
    handle_content(now, sync);
    send_all(pulls_.take());
    claim_name(now);
    return success();
}

void Membership::handle_content(TimePoint now, const wire::Sync& sync) {
    const PeerId from = sync.header.sender;
    switch (sync.kind) {
        case wire::SyncKind::ping: {
            wire::Sync ack;
            ack.kind = wire::SyncKind::ack;
            ack.seq = sync.seq;
            send({from, std::move(ack)});
            break;
        }
        case wire::SyncKind::ack:
            carry_out(now, prober_.handle_ack(step(now), from, sync.seq, Prober::Path::link));
            break;
        case wire::SyncKind::digest:
            compare_digest(now, sync);
            send_all(keys_.compare(sync));
            break;
        case wire::SyncKind::summary:
            // The asker waits for an answer. Where we know something else it gets our digest, as if we had asked.
            send_updates(now, from, {{}, sync.seq, sync.want_loads, {}});
            send_all(anti_entropy_.answer_summary(step(now), sync, keys_.hash()));
            send_all(keys_.compare(sync));
            break;
        case wire::SyncKind::keys:
            if (auto merged = keys_.merge(step(now), sync))
                carry_out(now, std::move(*merged));
            else
                ++counters_.refused;
            break;
        case wire::SyncKind::updates:
            send_updates(now, from, {sync.pulls, 0, false, {}});
            if (bootstrap_.is_joined() || sync.more || sync.seq == 0 || sync.seq != anti_entropy_.digest_seq()) break;
            anti_entropy_.reset_wait(step(now));
            carry_out(now, bootstrap_.complete_join(step(now)));
            break;
    }
}

void Membership::handle_link_broken(TimePoint now, PeerId id, Generation generation) {
    if (stage_ != Stage::member || id == self() || !is_live(id)) return;
    if (generation != Generation{} && generation != roster_.find(id)->record->generation) return;
    Effects effects;
    const bool is_suspicion = channels_.note_link_broken(step(now), id, effects);
    carry_out(now, std::move(effects));
    if (is_suspicion) accuse(now, id);
    probe_soon(now, id);
}

void Membership::handle_link_works(TimePoint now, PeerId id) {
    if (stage_ == Stage::member) carry_out(now, channels_.note_link_works(step(now), id));
}

void Membership::handle_timeout(TimePoint now) {
    notice_lateness(now);
    while (const auto key = timers_.take_due(now)) {
        if (key->kind == TimerKind::suspicion || key->kind == TimerKind::lost || key->kind == TimerKind::forget) {
            if (const Peer* peer = roster_.find(PeerId{key->of})) handle_peer_timeout(now, *key, *peer);
        } else {
            handle_own_timeout(now, *key);
        }
    }
    send_all(pulls_.take());
    claim_name(now);
}

// A timer that comes late says that this process was stopped or starved: our own answers are late, and an answer to us
// may wait unread. That is a failure of our health and of nobody else's.
void Membership::notice_lateness(TimePoint now) {
    if (stage_ != Stage::member || timers_.next() > now - config_.probe_timeout / 2) return;
    prober_.note_lateness(config_);
    carry_out(now, suspicions_.postpone(step(now)));
}

void Membership::handle_peer_timeout(TimePoint now, TimerKey key, const Peer& peer) {
    const PeerId id{key.of};
    if (key.kind == TimerKind::lost) {
        if (peer.liveness == Liveness::dead) mark_lost(now, id);
        return;
    }
    if (key.kind == TimerKind::forget) {
        if (peer.is_live()) return;
        if (peer.liveness == Liveness::left && !peer.out_of_view)
            leave_view(now, id);
        else
            forget(id);
        return;
    }
    switch (suspicions_.due(id)) {
        case SuspicionTable::Due::nothing:
            break;
        case SuspicionTable::Due::last_check:
            carry_out(now, suspicions_.check_again(step(now), id));
            break;
        case SuspicionTable::Due::verdict:
            judge_dead(now, id, peer.incarnation, self());
            break;
    }
}

void Membership::handle_own_timeout(TimePoint now, TimerKey key) {
    switch (key.kind) {
        case TimerKind::probe:
            carry_out(now, prober_.finish(step(now)));
            if (const auto peer = prober_.take_indirectly_answered()) channels_.note_indirect_answer(*peer);
            carry_out(now, channels_.check(step(now), prober_.is_udp_blocked()));
            carry_out(now, prober_.start(step(now)));
            break;
        case TimerKind::probe_timeout:
            carry_out(now, prober_.ask_others(step(now)));
            break;
        case TimerKind::indirect_probe:
            carry_out(now, prober_.indirect_timeout(step(now), key.of));
            break;
        case TimerKind::gossip: {
            const bool has_backlog = outbox_.gossip(step(now), {header(), loads_});
            if (has_backlog && anti_entropy_.is_wait_long(config_)) anti_entropy_.reset_wait(step(now));
            schedule_gossip(now);
            break;
        }
        case TimerKind::sync:
            tell_name_support(now);
            if (const auto peer = AntiEntropy::pick(step(now))) start_sync(now, *peer, false);
            anti_entropy_.schedule(step(now));
            break;
        case TimerKind::redial:
            carry_out(now, bootstrap_.redial(step(now)));
            break;
        case TimerKind::seeds:
            carry_out(now, bootstrap_.dial_seeds(step(now)));
            break;
        case TimerKind::name:
            ask_for_name(now);
            break;
        case TimerKind::lookups:
            bootstrap_.look_up(step(now));
            break;
        case TimerKind::loads:
            announce_loads(now);
            break;
        case TimerKind::record:
            announce_record(now);
            break;
        case TimerKind::leave:
            emit({EventKind::left_cluster, self()});
            stop();
            break;
        case TimerKind::rack:
            mark_deferred_dead(now, suspicions_.take_overdue(step(now), key.of));
            break;
        case TimerKind::suspicion:
        case TimerKind::lost:
        case TimerKind::forget:
            EXA_CHECK(false);
    }
}

void Membership::join(TimePoint now, JoinRequest request) {
    if (stage_ != Stage::member) return;
    if (!request.members.empty()) memory_.start(now, request.members);
    carry_out(now, bootstrap_.join(step(now), std::move(request)));
    claim_name(now);
}

void Membership::handle_lookup(TimePoint now, std::string_view name, std::vector<Endpoint> found) {
    if (stage_ == Stage::member) carry_out(now, bootstrap_.handle_lookup(step(now), name, std::move(found)));
}

Result<void> Membership::leave(TimePoint now) {
    if (stage_ != Stage::member) return error(errc::left);
    stage_ = Stage::leaving;
    roster_.set_liveness(now, self(), Liveness::left, incarnation());
    view_stale_ = true;
    prober_.pause();
    for (const TimerKind kind :
         {TimerKind::probe, TimerKind::probe_timeout, TimerKind::sync, TimerKind::redial, TimerKind::seeds,
          TimerKind::lookups, TimerKind::name, TimerKind::loads, TimerKind::record})
        timers_.cancel({kind});
    outbox_.updates().drop(self());
    disseminate(now, self());
    timers_.set({TimerKind::leave}, now + config_.leave_propagation);
    return success();
}

Result<void> Membership::set_record(TimePoint now, wire::PeerRecord next) {
    if (stage_ == Stage::over) return error(errc::left);
    std::ranges::sort(next.replicas, {}, &wire::ReplicaRecord::id);
    next.version = record().version;
    if (next.id != self() || next.generation != record().generation)
        return error(errc::invalid_record, "of another peer or instance");
    if (auto checked = wire::check_record(next); checked.has_error())
        return error(errc::invalid_record, checked.error().message());
    // These two are ours to count, and travel with every other change.
    next.name_claim = std::max(next.name_claim, record().name_claim);
    next.name_support = record().name_support;
    if (next == record() && !is_support_outgrown(record(), name_support())) return success();
    next.name_support = name_support();
    const bool is_urgent = pacer_.is_urgent(now, record(), next);
    roster_.set_self(next);
    view_stale_ = true;
    check_name(now, self());
    if (is_urgent)
        announce_record(now);
    else
        timers_.set_sooner({TimerKind::record}, pacer_.due());
    return success();
}

void Membership::announce_record(TimePoint now) {
    pacer_.note_told(now, config_);
    timers_.cancel({TimerKind::record});
    outbox_.updates().add_record(self(), roster_.announced_version());
    roster_.announce_self();
    schedule_gossip(now);
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
    announce_loads(now);
}

LoadReportRule Membership::load_report_rule(const wire::PeerRecord& of) const {
    const double stretch = std::max(1.0, static_cast<double>(roster_.live_count()) / 256.0);
    const auto stretched = [&](Duration wait, double by) {
        return Duration{static_cast<Duration::rep>(static_cast<double>(wait.count()) * stretch * by)};
    };
    // Peers that started together do not all report at once.
    const double share = 0.75 + static_cast<double>(hash64(self().value, 0) >> 54) / 2048;
    return {of.replicas, config_.load_change, config_.load_floor, stretched(config_.load_interval, 1),
            stretched(config_.load_interval_max, share)};
}

void Membership::announce_loads(TimePoint now) {
    const LoadReportRule rule = load_report_rule(record());
    for (const auto& [key, own] : loads_.take_own_updates(now, self(), rule))
        outbox_.updates().add_load(key, own == LoadChange::soon);
    if (const auto due = loads_.own_update_due(self(), rule))
        timers_.set({TimerKind::loads}, *due);
    else
        timers_.cancel({TimerKind::loads});
    schedule_gossip(now);
}

void Membership::carry_out(TimePoint now, Effects effects) {
    for (PacketOut& out : effects.packets) send(now, std::move(out));
    send_all(std::move(effects.syncs));
    for (const Notice& notice : effects.notices) {
        view_stale_ = true;
        emit(notice);
    }
    for (const PeerId peer : effects.accused) accuse(now, peer);
}

wire::Header Membership::header() const {
    const Peer& peer = roster_.own();
    return {cluster_, self(), peer.record->generation, peer.incarnation, roster_.announced_version(), peer.instance};
}

// Of ourselves it holds what others can know.
std::uint32_t Membership::roster_hash() const {
    const std::uint32_t own = Roster::hash_part(self(), record().generation, roster_.announced_version());
    return std::max(1U, roster_.live_hash() ^ own);
}

void Membership::send(TimePoint now, PacketOut out) {
    if (config_.mutant == Mutant::acks_lost && out.packet.kind == wire::PacketKind::ack) return;
    if (out.packet.kind == wire::PacketKind::ping) {
        out.packet.round = prober_.round();
        out.packet.roster = roster_hash();
    }
    if (out.to) out.packet.cannot_link = channels_.is_link_blocked(*out.to);
    outbox_.send(step(now), {header(), loads_}, std::move(out));
}

void Membership::send(SyncOut out) {
    if (config_.mutant == Mutant::acks_lost && out.sync.kind == wire::SyncKind::ack) return;
    outbox_.send(config_, roster_, header(), std::move(out));
}

void Membership::send_all(std::vector<SyncOut> out) {
    for (SyncOut& one : out) send(std::move(one));
}

void Membership::send_updates(TimePoint now, PeerId to, UpdateRequest request) {
    for (wire::Sync& sync : make_updates(now, roster_, loads_, std::move(request))) send({to, std::move(sync)});
}

void Membership::disseminate(TimePoint now, PeerId id) {
    const Liveness liveness = roster_.find(id)->liveness;
    const bool is_bad = liveness == Liveness::suspect || liveness == Liveness::dead;
    if (config_.mutant == Mutant::deaf_to_bad_news && is_bad) return;
    outbox_.updates().add_fact(id);
    schedule_gossip(now);
}

void Membership::emit(const Notice& notice) {
    const Peer* known = roster_.find(notice.peer);
    outbox_.push({notice.kind, notice.peer, known != nullptr ? known->record->generation : Generation{}, notice.other,
                  notice.refuse, known != nullptr ? known->incarnation : Incarnation{},
                  known != nullptr ? known->instance : 0});
}

void Membership::count(const Error& error) {
    if (error.code == wire::errc::wrong_cluster)
        ++counters_.wrong_cluster;
    else if (error.code == wire::errc::wrong_version)
        ++counters_.wrong_version;
    else
        ++counters_.malformed;
}

}  // namespace exa::membership
