// How a Membership takes in what others say, and compares itself with one of them in full.
#include <algorithm>
#include <utility>

#include "membership/membership.h"

namespace exa::membership {

namespace {

// Of an answer over the link. A record above it gets a message to itself.
constexpr std::size_t answer_bytes = 64 * 1024;
// Questions under way; above that old ones are forgotten, which at worst asks one of them twice.
constexpr std::size_t asked_max = 4096;
// Facts that one packet's errors bring back.
constexpr std::size_t corrections_max = 16;
constexpr std::size_t wants_max = wire::digest_entries_max;
// Four words of 8 bytes each with their tags.
constexpr std::size_t want_bytes_max = 40;
static_assert(answer_bytes + wire::record_bytes_max + wants_max * want_bytes_max + wire::message_size_bound <=
              wire::sync_bytes_max);

}  // namespace

template <class Message>
void Membership::merge(TimePoint now, const Message& message, bool compared) {
    const PeerId from = message.header.sender;
    for (const wire::RecordDelta& delta : message.records) {
        // A peer that is new to us must not look alive for the moment until its fact is read.
        wire::MemberState state = wire::MemberState::alive;
        for (const wire::Fact& fact : message.facts)
            if (fact.subject == delta.peer && fact.generation == delta.generation) state = fact.state;
        merge_record(now, from, delta, state, compared);
        if (stage_ == Stage::over) return;
    }
    for (const wire::Fact& fact : message.facts) merge_fact(now, from, fact, compared);
    for (const wire::LoadGroup& group : message.loads) merge_loads(now, from, group);
}

template void Membership::merge(TimePoint, const wire::Packet&, bool);
template void Membership::merge(TimePoint, const wire::Sync&, bool);

void Membership::merge_record(TimePoint now, PeerId from, const wire::RecordDelta& delta, wire::MemberState state,
                              bool compared) {
    const PeerId id = delta.peer;
    if (id == self()) {
        wire::Header header;
        header.generation = delta.generation;
        header.instance = delta.instance;
        meet_self(header);
        return;
    }
    const Peer* known = roster_.find(id);
    const bool was_shown = known != nullptr && !known->out_of_view;
    const std::uint64_t base = known != nullptr ? known->record->version : 0;
    const bool renamed = known != nullptr && delta.profile && delta.profile->name != known->record->name;
    switch (roster_.apply(now, delta, state)) {
        case Roster::Applied::stale:
            return;
        case Roster::Applied::full:
            ++counters_.refused;
            return;
        case Roster::Applied::conflict:
            doubt(now, id, delta.generation, delta.instance);
            return;
        case Roster::Applied::gap:
            pull(now, from, id);
            return;
        case Roster::Applied::changed:
            view_stale_ = true;
            asked_until_.erase(id);
            if (!roster_.find(id)->is_live()) return;
            queue_.add_record(id, base);
            if (was_shown) emit(EventKind::updated, id);
            if (renamed) check_name(id);
            break;
        case Roster::Applied::restarted:
            end_instance(now, id);
            [[fallthrough]];
        case Roster::Applied::created: {
            const Peer& peer = *roster_.find(id);
            view_stale_ = true;
            asked_until_.erase(id);
            if (peer.record->version == 0) pull(now, from, id);
            if (state == wire::MemberState::left) {
                timers_.set({TimerKind::forget, id.value}, now + config_.left_retention);
                keep_gone_bounded();
                return;
            }
            emit(EventKind::joined, id);
            if (state == wire::MemberState::dead) {
                mark_dead(now, id, peer.incarnation, from);
                queue_.drop(id);
                return;
            }
            if (state == wire::MemberState::suspect) suspect(now, id, peer.incarnation, from);
            check_name(id);
            // What a newcomer hears in its first comparison is no news to anyone else.
            if (joined_ || !compared) queue_.add_record(id, 0);
            break;
        }
    }
    news(now);
}

void Membership::merge_fact(TimePoint now, PeerId from, const wire::Fact& fact, bool compared) {
    const PeerId id = fact.subject;
    if (id == self()) {
        merge_own_fact(now, fact);
        return;
    }
    const Peer* peer = roster_.find(id);
    const bool over = fact.state == wire::MemberState::dead || fact.state == wire::MemberState::left;
    if (peer == nullptr || fact.generation > peer->record->generation) {
        if (!over) pull(now, from, id);
        return;
    }
    const bool accuses = fact.state == wire::MemberState::suspect || fact.state == wire::MemberState::dead;
    const bool outdated =
        std::pair(fact.generation, fact.incarnation) < std::pair(peer->record->generation, peer->incarnation);
    if (accuses && outdated && peer->is_live() && !compared && corrections_.size() < corrections_max)
        corrections_.push_back(id);
    if (fact.generation < peer->record->generation || peer->liveness == Liveness::left) return;
    if (fact.state == wire::MemberState::left) {
        mark_left(now, id, std::max(fact.incarnation, peer->incarnation));
        return;
    }
    if (fact.state == wire::MemberState::alive) {
        if (fact.incarnation > peer->incarnation) mark_alive(now, id, fact.incarnation);
        return;
    }
    if (fact.incarnation < peer->incarnation) return;
    if (!peer->is_live()) {
        if (fact.incarnation == peer->incarnation) return;
        if (fact.state == wire::MemberState::dead) {
            roster_.set_liveness(now, id, peer->liveness, fact.incarnation, fact.accuser);
            view_stale_ = true;
            return;
        }
        // Who is suspected in a later incarnation refuted the death that we know of.
        mark_alive(now, id, fact.incarnation);
    }
    // Of a comparison, a death may be an old belief of the other side of a healed partition: it is a suspicion to us,
    // of which the peer is then told.
    if (fact.state == wire::MemberState::dead && !compared) {
        judge_dead(now, id, fact.incarnation, fact.accuser);
        return;
    }
    const PeerId accuser = fact.state == wire::MemberState::dead ? from : fact.accuser;
    if (peer->liveness == Liveness::suspect && peer->incarnation == fact.incarnation) {
        if (accuser != PeerId{}) confirm(now, id, accuser);
        return;
    }
    suspect(now, id, fact.incarnation, accuser);
    const double chance = static_cast<double>(config_.out_of_turn_probers) / static_cast<double>(roster_.live().size());
    if (rng_.unit() < chance) probe_soon(now, id);
}

// Who accuses an incarnation that is over has missed the refutation, and would bury a live peer: it hears of it now.
void Membership::correct(TimePoint now, const Endpoint& at, PeerId accuser) {
    if (corrections_.empty()) return;
    wire::Packet reply = make_packet(wire::PacketKind::gossip, 0, accuser);
    for (const PeerId id : std::exchange(corrections_, {}))
        if (roster_.find(id) != nullptr) reply.facts.push_back(roster_.fact(id));
    if (stage_ == Stage::member) send(now, at, accuser, std::move(reply), false);
}

// Others doubt us, or know of an instance of ours that we do not.
void Membership::merge_own_fact(TimePoint now, const wire::Fact& fact) {
    if (fact.generation > record().generation) {
        wire::Header header;
        header.generation = fact.generation;
        meet_self(header);
        return;
    }
    if (fact.generation < record().generation || stage_ != Stage::member) return;
    const bool doubt = fact.state == wire::MemberState::suspect || fact.state == wire::MemberState::dead;
    const bool ahead = fact.incarnation > incarnation();
    if ((!doubt || fact.incarnation < incarnation()) && !ahead) return;
    ++counters_.refutations;
    if (doubt) prober_.worsen(config_, 1);
    const Incarnation next{std::min(fact.incarnation.value + 1, wire::counter_max)};
    roster_.set_liveness(now, self(), Liveness::alive, next);
    view_stale_ = true;
    queue_.add_fact(self());
    news(now);
}

void Membership::merge_loads(TimePoint now, PeerId from, const wire::LoadGroup& group) {
    const Peer* peer = roster_.find(group.peer);
    // Loads are told once: those of a peer that we have not heard of yet must come again, with its record.
    if (peer == nullptr || peer->record->generation < group.generation) {
        pull(now, from, group.peer);
        return;
    }
    if (group.peer == self() || !peer->is_live() || peer->record->generation != group.generation) return;
    const LoadChange heard = loads_.apply(now, group, load_report_rule(*peer->record));
    if (heard == LoadChange::none) return;
    view_stale_ = true;
    queue_.add_load({group.peer, group.part}, heard == LoadChange::soon);
    news(now);
}

// What the header alone says: the sender is a newer instance or has a newer record than we know.
void Membership::settle(TimePoint now, PeerId from, const wire::Header& header) {
    const Peer* peer = roster_.find(from);
    if (peer == nullptr) return;
    const auto theirs = std::pair(header.generation, header.record_version);
    if (theirs > std::pair(peer->record->generation, peer->record->version)) pull(now, from, from);
}

void Membership::pull(TimePoint now, PeerId from, PeerId peer) {
    if (from == self() || roster_.find(from) == nullptr || stage_ != Stage::member) return;
    const auto asked = asked_until_.find(peer);
    if (asked != asked_until_.end() && now < asked->second) return;
    if (asked_until_.size() >= asked_max) asked_until_.clear();
    asked_until_[peer] = now + config_.pull_timeout;
    const Peer* known = roster_.find(peer);
    auto& pulls = wants_[from];
    if (pulls.size() >= wants_max) return;
    pulls.push_back({peer, known != nullptr ? known->record->generation : Generation{},
                     known != nullptr ? known->record->version : 0});
}

void Membership::send_wants() {
    for (auto& [from, pulls] : wants_) {
        wire::Sync sync;
        sync.kind = wire::SyncKind::updates;
        sync.pulls = std::move(pulls);
        send_sync(from, std::move(sync));
    }
    wants_.clear();
}

// Old memories do not travel, or two peers would keep them alive in each other for ever.
bool Membership::is_told(TimePoint now, const Peer& peer) const {
    return !peer.out_of_view && (peer.liveness != Liveness::lost || now < peer.since + config_.lost_retention / 2);
}

// Two that agree find out by a summary, which is shorter than the list of more peers than it has parts. Who joins knows
// that they do not agree.
void Membership::start_sync(TimePoint now, PeerId with, bool want_loads) {
    if (!joined_ || roster_.size() <= wire::summary_parts) {
        send_digest(now, with, PeerId{0}, PeerId{~std::uint64_t{0}}, want_loads);
        return;
    }
    wire::Sync sync;
    sync.kind = wire::SyncKind::summary;
    sync.want_loads = want_loads;
    sync.keys_hash = keys_.hash();
    sync.seq = numbers_.next();
    sync.summary.assign(roster_.summary().begin(), roster_.summary().end());
    send_sync(with, std::move(sync));
}

void Membership::send_digest(TimePoint now, PeerId with, PeerId first, PeerId last, bool want_loads) {
    wire::Sync sync;
    sync.kind = wire::SyncKind::digest;
    sync.want_loads = want_loads;
    sync.keys_hash = keys_.hash();
    sync.first = first;
    std::size_t at = roster_.position(first);
    const auto is_end = [&] { return at == roster_.size() || roster_.peer(at).record->id > last; };
    for (bool whole = false; !whole;) {
        sync.seq = numbers_.next();
        for (; !is_end() && sync.digest.size() < wire::digest_entries_max; ++at)
            if (is_told(now, roster_.peer(at))) sync.digest.push_back(roster_.digest(roster_.peer(at)));
        whole = is_end();
        sync.last = whole ? last : PeerId{roster_.peer(at).record->id.value - 1};
        if (!joined_) join_seq_ = sync.seq;
        send_sync(with, sync);
        sync.first = PeerId{sync.last.value + 1};
        sync.digest.clear();
        sync.want_loads = false;
        sync.keys_hash = 0;
    }
}

// The asker waits for an answer. Where we know something else it gets our digest, as if we had asked.
void Membership::compare_summary(TimePoint now, const wire::Sync& sync) {
    const PeerId from = sync.header.sender;
    answer_wants(from, {}, sync.seq, sync.want_loads, {}, now);
    const std::span<const std::uint64_t> own = roster_.summary();
    for (std::size_t part = 0; part < own.size(); ++part) {
        if (own[part] == sync.summary[part]) continue;
        const PeerId first = Roster::ids_of_part(part).first;
        while (part + 1 < own.size() && own[part + 1] != sync.summary[part + 1]) ++part;
        send_digest(now, from, first, Roster::ids_of_part(part).second, false);
    }
}

void Membership::compare_digest(TimePoint now, const wire::Sync& sync) {
    const PeerId from = sync.header.sender;
    std::vector<wire::Pull> theirs;
    std::vector<wire::Pull> ours;
    std::size_t mine = roster_.position(sync.first);
    const auto mine_below = [&](PeerId id) { return mine < roster_.size() && roster_.peer(mine).record->id < id; };
    const auto theirs_only = [&](const wire::DigestEntry& entry) {
        if (entry.peer == self() || ours.size() >= wants_max) return;
        ours.push_back({entry.peer, Generation{}, 0});
    };
    const auto mine_only = [&](const Peer& peer) {
        if (is_told(now, peer) && peer.record->id != from) theirs.push_back({peer.record->id, Generation{}, 0});
    };
    for (const wire::DigestEntry& entry : sync.digest) {
        for (; mine_below(entry.peer); ++mine) mine_only(roster_.peer(mine));
        if (mine == roster_.size() || roster_.peer(mine).record->id != entry.peer) {
            theirs_only(entry);
            continue;
        }
        const wire::DigestEntry own = roster_.digest(roster_.peer(mine++));
        if (entry == own && entry.state == wire::MemberState::alive) continue;
        if (entry.generation > own.generation) {
            theirs_only(entry);
        } else if (entry.generation < own.generation) {
            theirs.push_back({entry.peer, Generation{}, 0});
        } else {
            if (entry.version > own.version && entry.peer != self() && ours.size() < wants_max)
                ours.push_back({entry.peer, own.generation, own.version});
            const bool behind = std::pair(entry.incarnation, entry.state) < std::pair(own.incarnation, own.state);
            if (entry.version < own.version || behind) theirs.push_back({entry.peer, entry.generation, entry.version});
            // Whose suspicion it is a digest does not say. A peer that is forgotten meanwhile moves the rest by one: at
            // worst one that we know is asked for again.
            merge_fact(now, from, {entry.peer, entry.generation, entry.incarnation, entry.state, PeerId{}}, true);
        }
    }
    for (; mine < roster_.size() && roster_.peer(mine).record->id <= sync.last; ++mine) mine_only(roster_.peer(mine));
    answer_wants(from, theirs, sync.seq, sync.want_loads, std::move(ours), now);
}

// Facts and records for `pulls`, and `own_wants` with the first message. An answer to a digest (seq not 0) is sent even
// when it is empty: the asker waits for it.
void Membership::answer_wants(PeerId to, const std::vector<wire::Pull>& pulls, std::uint64_t seq, bool with_loads,
                              std::vector<wire::Pull> own_wants, TimePoint now) {
    if (pulls.empty() && own_wants.empty() && seq == 0) return;
    wire::Sync answer;
    answer.kind = wire::SyncKind::updates;
    answer.seq = seq;
    answer.pulls = std::move(own_wants);
    std::size_t bytes = 0;
    const auto make_room = [&](std::size_t item) {
        bytes += item;
        if (bytes <= answer_bytes || bytes == item) return;
        answer.more = true;
        send_sync(to, std::exchange(answer, {}));
        answer.kind = wire::SyncKind::updates;
        answer.seq = seq;
        bytes = item;
    };
    const auto add_load = [&](const UpdateKey& key) {
        auto group = loads_.group(now, key);
        if (!group) return;
        make_room(wire::size_bound(*group));
        answer.loads.push_back(std::move(*group));
    };
    const auto add_loads = [&](PeerId of) {
        for (std::size_t part = 0; part < loads_.parts(of); ++part) add_load({of, static_cast<std::uint16_t>(part)});
    };
    for (const wire::Pull& pull : pulls) {
        const Peer* peer = roster_.find(pull.peer);
        if (peer == nullptr || peer->out_of_view) continue;
        const bool same_life = pull.generation == peer->record->generation;
        const std::uint64_t base = same_life ? pull.version : 0;
        std::optional<std::size_t> delta_bytes;
        if (!same_life || pull.version < roster_.digest(*peer).version) delta_bytes = roster_.delta_bytes(*peer, base);
        const wire::Fact fact = Roster::fact(*peer);
        // In one message: whoever is new to the reader must come with its state.
        make_room(wire::size_bound(fact) + delta_bytes.value_or(0));
        if (delta_bytes) answer.records.push_back(*roster_.delta(*peer, base));
        answer.facts.push_back(fact);
        if (pull.version == 0 && !with_loads) add_loads(pull.peer);
    }
    if (with_loads)
        for (const UpdateKey& key : loads_.keys()) add_load(key);
    send_sync(to, std::move(answer));
}

}  // namespace exa::membership
