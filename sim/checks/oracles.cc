#include "sim/checks/oracles.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hash.h"
#include "membership/config.h"
#include "sim/checks/placement.h"
#include "wire/gossip.h"

namespace exa::sim {

using membership::Liveness;
using Told = membership::EventKind;

namespace {

constexpr std::size_t violations_kept = 100;
// A peer that was down for so long is not revived by what was still on its way, where nothing holds news up.
constexpr std::chrono::seconds late_news{15};

// R2 and R3: positions of a ring, or keys, that are looked at for each change.
constexpr std::size_t placement_samples = 64;
constexpr std::size_t copies_samples = 8;
// DESIGN 7: of a segment, on different racks.
constexpr std::size_t copies = 2;
// A ring that only grows is looked at this often, as app/control publishes it.
constexpr std::chrono::milliseconds ring_period{20};
// B1: timers of a peer that are not about another one, and probes that it makes for others at once (membership's own
// limit), and reports in a load group.
constexpr std::size_t own_timers = 16;
constexpr std::size_t relays_max = 256;

bool is_live(Liveness liveness) {
    return liveness == Liveness::alive || liveness == Liveness::suspect;
}

std::uint64_t ring_digest(const router::RoutingView& view) {
    std::uint64_t digest = 0;
    for (const router::Pool& pool : view.pools()) digest = hash64(pool.hash, pool.ring->digest(), digest);
    return digest;
}

}  // namespace

Oracles::Oracles(const Scenario& scenario, Cluster& cluster)
    : scenario_(scenario),
      cluster_(cluster),
      watched_(scenario.watch.begin(), scenario.watch.end()),
      detect_bound_(scenario.bounds.detect),
      cells_(cluster.size()),
      placement_(cluster.streams().stream("placement")) {
    if (detect_bound_ == Duration{0})
        detect_bound_ =
            membership::worst_detection(scenario.cluster.membership, cluster.size()) + std::chrono::seconds{2};
}

std::string Oracles::name(std::size_t subject) const {
    return fmt::format("peer {} (generation {})", subjects_[subject].host, subjects_[subject].generation);
}

void Oracles::violate(std::string_view check, std::string what) {
    if (!watches(check)) return;
    ++violation_count_;
    if (violations_.size() < violations_kept)
        violations_.push_back({std::string(check), std::move(what), cluster_.now(), cluster_.trace().entries()});
}

std::optional<std::size_t> Oracles::find(PeerId id) const {
    const auto at = by_id_.find(id.value);
    if (at == by_id_.end()) return std::nullopt;
    return at->second;
}

std::size_t Oracles::subject_of(const Peer& peer) {
    const auto [at, fresh] = by_id_.emplace(peer.id.value, subjects_.size());
    if (fresh)
        subjects_.push_back({.id = peer.id,
                             .host = peer.host,
                             .down_at = {},
                             .incarnation = {},
                             .former = {},
                             .up_at = {},
                             .ending = {},
                             .birth = {}});
    return at->second;
}

Oracles::Cell& Oracles::cell(Host observer, std::size_t subject) {
    std::vector<Cell>& row = cells_[observer];
    if (row.size() <= subject) row.resize(std::max(subjects_.size(), subject + 1));
    return row[subject];
}

void Oracles::on_up(WorldTime now, const Peer& peer) {
    const std::size_t number = subject_of(peer);
    Subject& subject = subjects_[number];
    // Two lives under one generation are what a lost write of the generation looks like; of a disk that lies nothing
    // else can be expected.
    if (peer.generation.value <= subject.generation && peer.disk.effects().syncs_ignored == 0)
        violate("M4", fmt::format("peer {} starts its life {} with generation {} after {}", peer.host, peer.boot,
                                  peer.generation.value, subject.generation));
    if (subject.generation != peer.generation.value)
        subject.former.reset();
    else
        subject.former = std::max(subject.former.value_or(Incarnation{}), subject.incarnation);
    subject.generation = peer.generation.value;
    subject.life = peer.node->membership().instance();
    subject.newest = std::max(subject.newest, subject.generation);
    subject.up = true;
    subject.up_at = now;
    subject.ending.reset();
    ++up_;
    cells_[peer.host].reserve(cluster_.size());
    cells_[peer.host].assign(subjects_.size(), {});
    News birth{.at = now, .first = {}, .last = now, .waiting = {}};
    birth.waiting.resize(cluster_.size());
    for (Host other = 0; other < cluster_.size(); ++other) {
        if (other == peer.host || !cluster_.peer(other).is_up()) continue;
        birth.waiting[other] = 1;
        ++birth.left;
    }
    if (birth.left > 0 && now >= WorldTime{scenario_.measure_from}) subject.birth = std::move(birth);
    if (!ring_observer_) ring_observer_ = peer.host;
}

void Oracles::drop_observer(Host host) {
    for (Subject& subject : subjects_) {
        for (std::optional<News>* news : {&subject.ending, &subject.birth}) {
            if (!*news || (*news)->waiting[host] == 0) continue;
            (*news)->waiting[host] = 0;
            if (--(*news)->left == 0) news->reset();
        }
    }
}

void Oracles::on_down(WorldTime now, const Peer& peer) {
    const std::size_t number = subject_of(peer);
    drop_observer(peer.host);
    for (Cell& forgotten : cells_[peer.host]) ready_ -= forgotten.ready;
    cells_[peer.host].clear();
    Subject& subject = subjects_[number];
    subject.up = false;
    subject.left = peer.is_draining() && peer.node->membership().is_over();
    subject.down_at = now;
    subject.incarnation = peer.node->membership().incarnation();
    subject.birth.reset();
    --up_;
    if (ring_observer_ == peer.host) {
        ring_observer_.reset();
        for (Host other = 0; other < cluster_.size() && !ring_observer_; ++other)
            if (other != peer.host && cluster_.peer(other).is_up()) ring_observer_ = other;
        ring_digest_ = 0;
        ring_before_.reset();
    }
    News ending{.at = now, .first = {}, .last = now, .waiting = {}};
    ending.waiting.resize(cluster_.size());
    for (Host other = 0; other < cluster_.size(); ++other) {
        if (other == peer.host || !cluster_.peer(other).is_up()) continue;
        const Cell& known = cell(other, number);
        if (!known.known || !subject.is_in(known) || !is_live(known.liveness)) continue;
        ending.waiting[other] = 1;
        ++ending.left;
    }
    if (ending.left > 0 && measuring_) subject.ending = std::move(ending);
}

void Oracles::heard(WorldTime now, std::optional<News>& news, Host observer, bool ending) {
    if (!news || news->waiting[observer] == 0) return;
    news->waiting[observer] = 0;
    if (!news->first) news->first = now;
    news->last = now;
    ++news->told;
    if (--news->left > 0) return;
    const double all = seconds_of(now - news->at);
    if (ending) {
        measured_.detect_first.push_back(seconds_of(*news->first - news->at));
        measured_.detect_all.push_back(all);
        measured_.spread.push_back(seconds_of(now - *news->first));
    } else {
        measured_.join_all.push_back(all);
    }
    news.reset();
}

void Oracles::refresh_ready(const Peer& observer, std::size_t subject, Cell& known) {
    std::uint32_t ready = 0;
    if (known.known && is_live(known.liveness)) {
        const membership::Peer* peer = observer.node->membership().roster().find(subjects_[subject].id);
        if (peer != nullptr)
            for (const wire::ReplicaRecord& replica : peer->record->replicas)
                ready += replica.state == wire::ReplicaState::ready ? 1 : 0;
    }
    ready_ = ready_ + ready - known.ready;
    known.ready = ready;
    const std::uint64_t peers = cluster_.size();
    if (!measured_.ready_all && cluster_.config().replicas > 0 && up_ == peers &&
        ready_ == peers * (peers - 1) * cluster_.config().replicas)
        measured_.ready_all = seconds_of(cluster_.now());
}

void Oracles::note_ring(const Peer& observer, bool at_once) {
    if (observer.host != ring_observer_) return;
    ring_stale_ = !at_once && cluster_.now() < ring_looked_ + ring_period;
    if (ring_stale_) return;
    ring_looked_ = cluster_.now();
    auto view = observer.node->routing();
    const std::uint64_t digest = ring_digest(*view);
    if (digest == ring_digest_) return;
    if (ring_digest_ != 0 && measuring_ && cluster_.now() >= WorldTime{scenario_.measure_from})
        ++measured_.ring_changes;
    ring_digest_ = digest;
    if (ring_before_ && watches("R2")) check_movement(observer, *ring_before_, *view);
    if (watches("R3")) check_copies(observer);
    ring_before_ = std::move(view);
}

void Oracles::check_movement(const Peer& observer, const router::RoutingView& before,
                             const router::RoutingView& after) {
    for (const router::Pool& pool : after.pools()) {
        const router::Pool* was = before.find_pool(pool.hash);
        if (was == nullptr || was->ring == pool.ring) continue;
        ++measured_.placements;
        if (const auto moved = needless_move(side_of(*was->ring), side_of(*pool.ring), placement_, placement_samples))
            violate("R2", fmt::format("in peer {}'s ring {}", observer.host, *moved));
    }
}

void Oracles::check_copies(const Peer& observer) {
    const membership::Roster& roster = observer.node->membership().roster();
    std::vector<ring::RendezvousCandidate> candidates;
    for (std::size_t i = 0; i < roster.size(); ++i) {
        const membership::Peer& peer = roster.peer(i);
        if (peer.liveness == Liveness::lost || peer.liveness == Liveness::left) continue;
        candidates.push_back({peer.record->id.value, 1, hash64(as_bytes(peer.record->rack))});
    }
    ++measured_.placements;
    if (const auto wrong = misplaced_copies(candidates, copies, ring::choose_owners, placement_, copies_samples))
        violate("R3", fmt::format("as peer {} sees it, {}", observer.host, *wrong));
}

bool Oracles::is_excused(WorldTime now, const Peer& peer) const {
    return !peer.is_punctual() || cluster_.fabric().is_cut(peer.host) ||
           (peer.resumed_at > WorldTime{} && now - peer.resumed_at < detect_bound_);
}

void Oracles::note_death(WorldTime now, const Peer& observer, std::size_t number, const membership::Event& event) {
    const Subject& subject = subjects_[number];
    if (!subject.up || !subject.is_in(event)) return;
    const Peer& peer = cluster_.peer(subject.host);
    const bool after_heal = last_heal_ > WorldTime{} && now - last_heal_ < detect_bound_;
    const bool is_of_former =
        subject.former && event.incarnation <= *subject.former && now - subject.up_at < detect_bound_;
    if (after_heal || is_of_former || peer.is_draining() || is_excused(now, peer) || is_excused(now, observer)) {
        ++measured_.excused_deaths;
        return;
    }
    ++measured_.false_deaths;
    violate("no-false-deaths", fmt::format("peer {} calls {} dead, which is up", observer.host, name(number)));
    const auto accuser = find(event.other);
    if (!accuser) return;
    std::set<Host>& victims = victims_[subjects_[*accuser].host];
    if (victims.insert(subject.host).second && victims.size() == scenario_.bounds.killer_victims + 1)
        violate("M5", fmt::format("peer {} alone had {} peers called dead that are up", subjects_[*accuser].host,
                                  victims.size()));
}

void Oracles::note_leave(WorldTime now, const Peer& observer, std::size_t number, const membership::Event& event) {
    const Subject& subject = subjects_[number];
    if (subject.up || !subject.left || !subject.is_in(event)) return;
    if (is_excused(now, observer) || now - last_heal_ < detect_bound_) return;
    ++measured_.left_as_dead;
    violate("leave", fmt::format("peer {} calls {} dead, which left by its own word", observer.host, name(number)));
}

void Oracles::note_suspicion(const Peer& observer, std::size_t number) {
    ++measured_.suspicions;
    const Subject& subject = subjects_[number];
    const Peer& peer = cluster_.peer(subject.host);
    // Cut or not: a peer that somebody in reach can ask for is not to be suspected.
    if (!subject.up || peer.is_draining() || !peer.is_punctual() || !observer.is_punctual()) return;
    if (++false_suspicions_ == scenario_.bounds.suspicions + std::uint64_t{1})
        violate("no-false-suspicions",
                fmt::format("peer {} suspects {}, which is up and answers", observer.host, name(number)));
}

// Somewhere news of long ago may still wait to be read or to be delivered, and would then be told to everybody.
bool Oracles::is_news_held_up(WorldTime now) const {
    if (now - last_heal_ <= late_news || cluster_.fabric().is_held_up()) return true;
    for (Host host = 0; host < cluster_.size(); ++host) {
        const Peer& peer = cluster_.peer(host);
        if (!peer.is_up()) continue;
        if (!peer.is_punctual() || (peer.resumed_at > WorldTime{} && now - peer.resumed_at <= late_news)) return true;
    }
    return false;
}

// M4 of one that was gone. In the same life only the peer's own word in a later incarnation brings it back: so it may
// once for each time that it refuted, however late that is read, and never by what was known when it was buried.
void Oracles::note_return(WorldTime now, const Peer& observer, std::size_t number, const membership::Event& event) {
    const Subject& subject = subjects_[number];
    const Cell& known = cell(observer.host, number);
    if (!known.known || is_live(known.liveness)) return;
    if (known.generation != event.generation.value || known.life != event.instance) return;
    if (known.liveness == Liveness::left)
        violate("M4", fmt::format("peer {} takes {} for alive, which left", observer.host, name(number)));
    else if (event.incarnation <= known.buried)
        violate("M4", fmt::format("peer {} takes {} for alive in incarnation {}, which it had called dead in {}",
                                  observer.host, name(number), event.incarnation.value, known.buried.value));
    else if (!subject.up && now - subject.down_at > late_news && !cluster_.fabric().is_cut(observer.host) &&
             !is_news_held_up(now))
        violate("M4", fmt::format("peer {} takes {} for alive again, which went down {:.1f} s ago", observer.host,
                                  name(number), seconds_of(now - subject.down_at)));
}

void Oracles::on_told(WorldTime now, const Peer& observer, const membership::Event& event) {
    const auto number = find(event.peer);
    if (!number || event.peer == observer.id) return;
    Subject& subject = subjects_[*number];
    Cell& known = cell(observer.host, *number);
    if (event.generation.value > subject.newest)
        violate("M4", fmt::format("peer {} speaks of generation {} of {}", observer.host, event.generation.value,
                                  name(*number)));
    // Facts name a generation, not a life: where a disk lied, those of the former life stand until the peer outbids
    // them.
    const bool disk_lied = cluster_.peer(subject.host).disk.effects().syncs_ignored > 0;
    if (const membership::Peer* held = observer.node->membership().roster().find(event.peer);
        held != nullptr && !disk_lied && subject.is_in(event)) {
        const Incarnation latest =
            subject.up ? cluster_.peer(subject.host).node->membership().incarnation() : subject.incarnation;
        if (held->incarnation > latest)
            violate("M4", fmt::format("peer {} holds incarnation {} of {}, which is at {}", observer.host,
                                      held->incarnation.value, name(*number), latest.value));
    }
    switch (event.kind) {
        case Told::joined:
        case Told::alive: {
            note_return(now, observer, *number, event);
            if (event.kind == Told::joined && known.known && event.generation.value < known.generation)
                violate("M4", fmt::format("peer {} goes back to generation {} of {}", observer.host,
                                          event.generation.value, name(*number)));
            known.known = true;
            known.liveness = Liveness::alive;
            known.generation = event.generation.value;
            known.life = event.instance;
            if (subject.is_in(known)) heard(now, subject.birth, observer.host, false);
            break;
        }
        case Told::suspect:
            known.liveness = Liveness::suspect;
            note_suspicion(observer, *number);
            break;
        case Told::dead:
            known.liveness = Liveness::dead;
            known.buried = event.incarnation;
            note_death(now, observer, *number, event);
            note_leave(now, observer, *number, event);
            if (subject.is_in(event)) heard(now, subject.ending, observer.host, true);
            break;
        case Told::lost:
            known.liveness = Liveness::lost;
            break;
        case Told::left:
            known.liveness = Liveness::left;
            known.buried = event.incarnation;
            if (subject.is_in(event)) heard(now, subject.ending, observer.host, true);
            break;
        case Told::forgotten:
            known.known = false;
            break;
        case Told::name_conflict:
        case Told::rack_down:
        case Told::losses_held:
        case Told::losses_released:
        case Told::udp_blocked:
        case Told::udp_restored:
        case Told::updated:
        case Told::id_conflict:
        case Told::joined_cluster:
        case Told::left_cluster:
        case Told::keys_changed:
        case Told::heard_plaintext:
        case Told::heard_encrypted:
        case Told::heard_foreign_key:
            break;
    }
    refresh_ready(observer, *number, known);
    if (event.kind == Told::suspect || event.kind == Told::lost) return;
    note_ring(observer, event.kind == Told::dead || event.kind == Told::left);
}

void Oracles::before_stranger(const Peer& peer) {
    if (watches("S1") || watches("S2")) stranger_before_ = fingerprint(*peer.node);
}

void Oracles::after_stranger(WorldTime, const Peer& peer, Origin origin, bool taken) {
    if (!stranger_before_) return;
    ++measured_.strangers;
    const Fingerprint after = fingerprint(*peer.node);
    // Behind a seal damage and replays are known for what they are; without one only what a replay says can be judged.
    const bool replayed = origin == Origin::replayed;
    const bool refused = origin == Origin::outsider || scenario_.cluster.sealed;
    if (refused && (taken || after != *stranger_before_))
        violate(replayed ? "S2" : "S1",
                fmt::format("a datagram that is {} {} peer {}", replayed ? "a replay" : "no member's",
                            after != *stranger_before_ ? "changed" : "was taken by", peer.host));
    else if (replayed && goes_back(stranger_before_->beliefs, after.beliefs))
        violate("S2",
                fmt::format("a datagram that peer {} had taken before took it back in what it believes", peer.host));
}

void Oracles::check_length(Host from, bool link, std::size_t bytes) {
    const std::size_t most = link ? wire::sync_bytes_max : wire::datagram_bytes_max;
    if (bytes > most)
        violate("B1", fmt::format("peer {} sends {} bytes in one {}, {} are allowed", from, bytes,
                                  link ? "link message" : "datagram", most));
}

void Oracles::check_sizes() {
    const membership::Config& config = scenario_.cluster.membership;
    const std::size_t members = scenario_.bounds.members > 0 ? scenario_.bounds.members : config.members_max;
    const std::size_t load_groups = (scenario_.cluster.replicas + wire::load_group_max - 1) / wire::load_group_max;
    for (Host host = 0; host < cluster_.size(); ++host) {
        const Peer& peer = cluster_.peer(host);
        if (!peer.is_up()) continue;
        const membership::Sizes sizes = peer.node->membership().sizes();
        const auto bound = [&](std::string_view what, std::size_t size, std::size_t most, std::size_t& seen) {
            seen = std::max(seen, size);
            if (size > most) violate("B1", fmt::format("peer {} holds {} {}, the bound is {}", host, size, what, most));
        };
        bound("members", sizes.peers, members, measured_.sizes.peers);
        bound("dead and lost peers", sizes.tombstones, config.tombstones_max, measured_.sizes.tombstones);
        bound("pieces of news", sizes.updates, sizes.peers * (2 + load_groups), measured_.sizes.updates);
        bound("probes for others", sizes.indirect_probes, relays_max, measured_.sizes.indirect_probes);
        bound("timers", sizes.timers, own_timers + 3 * sizes.peers + sizes.indirect_probes, measured_.sizes.timers);
        bound("questions under way", sizes.asked, members, measured_.sizes.asked);
        bound("questions to send", sizes.pulls, sizes.peers, measured_.sizes.pulls);
        bound("doubts", sizes.doubts, sizes.peers, measured_.sizes.doubts);
        std::size_t waiting = 0;
        bound("datagrams in its socket", peer.inbox_datagrams, scenario_.cluster.socket_datagrams, waiting);
    }
}

void Oracles::sweep(WorldTime now) {
    if (watches("B1")) check_sizes();
    if (ring_stale_ && ring_observer_) note_ring(cluster_.peer(*ring_observer_), true);
    for (std::size_t number = 0; number < subjects_.size(); ++number) {
        std::optional<News>& ending = subjects_[number].ending;
        if (!ending || ending->overdue) continue;
        const WorldTime since = std::max(ending->at, last_heal_);
        if (now - since <= detect_bound_) continue;
        std::uint32_t late = 0;
        Host one = 0;
        for (Host host = 0; host < cluster_.size(); ++host) {
            if (ending->waiting[host] == 0 || is_excused(now, cluster_.peer(host))) continue;
            ++late;
            one = host;
        }
        if (late == 0) continue;
        ending->overdue = true;
        violate("M2", fmt::format("{:.1f} s after {} went down, {} peers do not know it, one of them peer {}",
                                  seconds_of(now - ending->at), name(number), late, one));
    }
}

bool Oracles::is_settled(const std::vector<Host>& core, std::string& why) {
    std::vector<std::uint8_t> in_core(cluster_.size());
    for (const Host host : core) in_core[host] = 1;
    for (const Host host : core) {
        const Peer& observer = cluster_.peer(host);
        if (!observer.is_up()) {
            why = fmt::format("M1: peer {} stopped by itself", host);
            return false;
        }
        if (!observer.joined) {
            why = fmt::format("M1: peer {} has not finished joining", host);
            return false;
        }
        for (std::size_t number = 0; number < subjects_.size(); ++number) {
            const Subject& subject = subjects_[number];
            if (subject.host == host && subject.up) continue;
            const Cell& known = cell(host, number);
            if (!subject.up) {
                if (known.known && is_live(known.liveness)) {
                    why = fmt::format("M2: peer {} still takes {} for alive", host, name(number));
                    return false;
                }
                continue;
            }
            if (in_core[subject.host] == 0) continue;
            if (cluster_.peer(subject.host).name == observer.name) {
                why = fmt::format("M4: peer {} and {} share a name", host, name(number));
                return false;
            }
            if (!known.known || known.liveness != Liveness::alive || !subject.is_in(known)) {
                why = fmt::format("M1: peer {} does not hold {} for alive", host, name(number));
                return false;
            }
            const membership::Peer* held = observer.node->membership().roster().find(subject.id);
            const wire::PeerRecord& own = cluster_.peer(subject.host).node->membership().record();
            if (held == nullptr || held->record->version != own.version) {
                why = fmt::format("M3: peer {} holds edition {} of the record of {}, which is at {}", host,
                                  held != nullptr ? held->record->version : 0, name(number), own.version);
                return false;
            }
        }
    }
    return true;
}

void Oracles::check_rings(const std::vector<Host>& core) {
    constexpr std::size_t sample = 4;
    std::optional<std::uint64_t> digest;
    const bool whole = core.size() == up_;
    for (std::size_t i = 0; i < std::min(sample, core.size()); ++i) {
        Peer& peer = cluster_.peer(core[i * (core.size() - 1) / std::max<std::size_t>(sample - 1, 1)]);
        const auto view = peer.node->routing();
        for (const router::Pool& pool : view->pools()) {
            std::vector<ring::RingMember> members(pool.ring->members().begin(), pool.ring->members().end());
            std::ranges::reverse(members);
            if (ring::Ring(members).digest() != pool.ring->digest())
                violate("R1", fmt::format("peer {}'s ring depends on the order of its members", peer.host));
        }
        const std::uint64_t own = ring_digest(*view);
        if (whole && digest && *digest != own) violate("R1", fmt::format("peer {} has another ring", peer.host));
        digest = own;
    }
}

void Oracles::check_bounds() {
    for (Host host = 0; host < cluster_.size(); ++host) {
        const Peer& peer = cluster_.peer(host);
        if (peer.is_up() && peer.node->counters().dropped > 0)
            violate("B1", fmt::format("peer {} dropped {} outputs", host, peer.node->counters().dropped));
    }
    const Duration waited = cluster_.fabric().control_wait_max();
    if (waited > scenario_.bounds.control)
        violate("B3", fmt::format("a membership message waited {:.3f} s for its host's line, {:.3f} s is the bound",
                                  seconds_of(waited), seconds_of(scenario_.bounds.control)));
}

}  // namespace exa::sim
