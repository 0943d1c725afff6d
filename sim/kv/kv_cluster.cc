#include "sim/kv/kv_cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace exa::sim {

namespace {

// Segments, with every poll.
constexpr std::size_t scrubbed_at_once = 4;
// As an hour of production is to a day.
constexpr std::chrono::seconds repair_period{100};
// A second loss sooner than this after the first one is not held against repair.
constexpr std::chrono::seconds repair_time{90};

node::KvReplicatorConfig replicator_config(Mutant mutant) {
    node::KvReplicatorConfig config;
    config.exchange.repair.period = repair_period;
    config.exchange.mutant = mutant;
    return config;
}

}  // namespace

KvCluster::KvCluster(const Scenario& scenario, Cluster& cluster, Oracles& oracles, const Crypto& crypto, Mutant mutant)
    : scenario_(scenario),
      cluster_(cluster),
      oracles_(oracles),
      sealer_(crypto, as_bytes("root"), mutant),
      rng_(cluster.streams().stream("kv")),
      conversations_(crypto, scenario.kv.conversations, mutant, cluster.streams().stream("chats")),
      replicators_(cluster, *this, sealer_, {EventKind::kv, LinkPool::bulk, scenario.kv.segment_bytes},
                   replicator_config(mutant)) {
    for (Host host = 0; host < cluster.size(); ++host)
        stores_.push_back(std::make_unique<KvStore>(sealer_, cluster.peer(host).disk,
                                                    std::uint64_t{scenario.kv.capacity_segments} * kv::segment_block,
                                                    cluster.streams().stream("kv store", host)));
    cluster.handle_with(EventKind::kv, [this](const Event& event) {
        if (event.arg == Replicators::user_arg) return begin_turn();
        replicators_.handle(event);
    });
}

void KvCluster::start() {
    if (scenario_.kv.rate <= 0) return;
    cluster_.push(WorldTime{scenario_.kv.from}, EventKind::kv, 0, Replicators::user_arg);
    replicators_.start();
}

void KvCluster::on_crash(Host host) {
    stores_[host]->crash();
    // The next process numbers its fetches from one again.
    std::erase_if(turns_, [host](const auto& turn) { return turn.first.first == host; });
}

void KvCluster::begin_turn() {
    if (stopped_) return;
    cluster_.push(cluster_.now() + duration_of(-std::log(1 - rng_.unit()) / scenario_.kv.rate), EventKind::kv, 0,
                  Replicators::user_arg);
    const Host host = static_cast<Host>(rng_.below(cluster_.size()));
    const std::uint32_t conversation = conversations_.pick();
    node::KvReplicator* replicator = replicators_.find(host);
    if (replicator == nullptr || cluster_.peer(host).paused) return;
    ++counters_.turns;
    conversations_.grow(conversation, scenario_.kv.turn_segments);
    Turn turn{host, replicators_.boot(host), conversation, conversations_.conversation(conversation).segments, {}};
    std::vector<kv::SegmentKey> keys;
    for (std::uint32_t place = 0; place < turn.segments.size(); ++place) {
        const kv::SegmentKey& key = turn.segments[place].key;
        keys.push_back(key);
        const auto held = stores_[host]->get(replicators_.wall(host), key);
        turn.held.push_back(held != nullptr);
        if (held) check(host, turn, place, *held);
        counters_.held += held != nullptr ? 1 : 0;
    }
    const kv::FetchId id = replicator->fetch_chain(replicators_.now(host), std::move(keys), turn.held);
    turns_.emplace(std::pair(host, id), std::move(turn));
    replicators_.pump(host);
}

// As app/kv/scrubber reads the disk, somewhat faster, so that a round ends within a run.
void KvCluster::on_poll(Host host) {
    for (const kv::SegmentKey& key : stores_[host]->scrub(scrubbed_at_once))
        replicators_.last(host)->handle_lost(replicators_.now(host), key);
}

kv::Item KvCluster::lookup(Host host, const kv::SegmentKey& key) {
    return stores_[host]->find(key).value_or(kv::Item{key});
}

kv::SealedSegment KvCluster::read(Host host, const kv::SegmentKey& key) {
    const bool was_here = stores_[host]->find(key).has_value();
    auto segment = stores_[host]->get(replicators_.wall(host), key);
    if (was_here && !segment) replicators_.last(host)->handle_lost(replicators_.now(host), key);
    return segment;
}

void KvCluster::on_written(Host host, const kv::Item& item) {
    KvStore& store = *stores_[host];
    store.finish(replicators_.wall(host), item.key);
    // A second write of it may have come after its eviction.
    if (!store.find(item.key)) return;
    Track& track = tracks_[item.key];
    track.on.insert(host);
    track.refused.erase(host);
    track.was_safe = track.was_safe || track.on.size() >= 2;
    if (store.physical_bytes() > store.capacity())
        oracles_.violate("K5", fmt::format("the store of peer {} takes {} bytes of {}", host, store.physical_bytes(),
                                           store.capacity()));
}

// A delivered segment is kept as it came, and not offered to any peer.
void KvCluster::deliver(Host host, const kv::Exchange::Deliver& deliver) {
    const auto turn = turns_.find({host, deliver.id});
    if (turn == turns_.end()) return;
    ++counters_.handed_out;
    check(host, turn->second, deliver.place, *deliver.segment);
    const kv::SegmentKey& key = turn->second.segments[deliver.place].key;
    write(host, deliver.segment, {key, 0, static_cast<std::uint32_t>(deliver.segment->size())}, WriteOrigin::fetched);
}

void KvCluster::end_fetch(Host host, const kv::Exchange::FetchOver& over) {
    const auto turn = turns_.extract({host, over.id});
    if (!turn.empty()) end_turn(turn.mapped(), over.prefix);
}

void KvCluster::store(Host host, const kv::Exchange::Store& store) {
    write(host, store.segment, store.item, WriteOrigin::offered);
}

void KvCluster::on_acked(const kv::Exchange::Acked& acked) {
    ++counters_.acknowledged;
    const auto by = replicators_.host_of(acked.by);
    if (!by) return;
    const Track& track = tracks_[acked.item.key];
    const bool lost_since = track.last_loss > WorldTime{} && cluster_.now() - track.last_loss < repair_time;
    if (track.on.contains(*by) || track.excused || lost_since) return;
    oracles_.violate(
        "K2", fmt::format("peer {} says that it has segment {}, which is not on its disk", *by, name(acked.item.key)));
}

void KvCluster::write(Host host, const kv::SealedSegment& segment, const kv::Item& item, WriteOrigin origin) {
    node::KvReplicator& replicator = *replicators_.last(host);
    const TimePoint now = replicators_.now(host);
    std::vector<kv::SegmentKey> gone;
    const auto begun = stores_[host]->begin(replicators_.wall(host), segment, gone);
    for (const kv::SegmentKey& key : gone) {
        tracks_[key].evicted = true;
        lose(host, key, true);
    }
    switch (begun) {
        case KvStore::Begun::writing:
            return replicators_.write_later(host, item, origin);
        case KvStore::Begun::present:
            if (origin == WriteOrigin::made) replicator.handle_written(now, item);
            if (origin == WriteOrigin::offered) replicator.handle_stored(now, item, kv::OfferOutcome::held);
            return;
        case KvStore::Begun::refused:
            tracks_[item.key].refused.insert(host);
            if (origin == WriteOrigin::offered) replicator.handle_stored(now, item, kv::OfferOutcome::refused);
            return;
    }
}

void KvCluster::check(Host host, const Turn& turn, std::uint32_t place, const kv::SegmentBuffer& segment) {
    const Conversations::Segment& wanted = turn.segments[place];
    const auto content = Conversations::read(segment);
    if (content == wanted.content) return;
    if (content && content->tenant != wanted.content.tenant)
        oracles_.violate("K6", fmt::format("peer {} hands tenant {} what tenant {} has sent", host,
                                           wanted.content.tenant, content->tenant));
    else
        oracles_.violate("K1", fmt::format("peer {} hands out segment {} with other contents than its tokens have",
                                           host, name(wanted.key)));
}

// What did not come is computed.
void KvCluster::end_turn(const Turn& turn, std::uint32_t given) {
    if (replicators_.find(turn.host) == nullptr || replicators_.boot(turn.host) != turn.boot) return;
    for (std::uint32_t place = given; place < turn.segments.size(); ++place) {
        const Conversations::Segment& segment = turn.segments[place];
        ++counters_.made;
        const auto sealed = conversations_.make(sealer_, segment, replicators_.number());
        write(turn.host, sealed, {segment.key, 0, static_cast<std::uint32_t>(sealed->size())}, WriteOrigin::made);
    }
}

void KvCluster::lose(Host host, const kv::SegmentKey& key, bool excused) {
    Track& track = tracks_[key];
    if (track.on.erase(host) == 0) return;
    track.excused = track.excused || excused;
    const bool soon = track.last_loss > WorldTime{} && cluster_.now() - track.last_loss < repair_time;
    track.last_loss = cluster_.now();
    if (!track.on.empty() || !track.was_safe || track.excused || soon) return;
    oracles_.violate(
        "K3", fmt::format("the last copy of segment {} is gone with peer {}, {:.0f} s after any other loss", name(key),
                          host, seconds_of(repair_time)));
}

std::uint64_t KvCluster::rot(Host host, double share) {
    KvStore& store = *stores_[host];
    std::uint64_t changed = 0;
    const auto count = static_cast<std::size_t>(share * static_cast<double>(store.list(std::nullopt, SIZE_MAX).size()));
    for (std::size_t i = 0; i < std::max<std::size_t>(count, 1); ++i) changed += store.rot() ? 1 : 0;
    // What rots is lost without anybody's knowing, and so are its copies if they rot, too.
    if (changed > 0)
        for (const kv::Item& item : store.list(std::nullopt, SIZE_MAX)) tracks_[item.key].excused = true;
    return changed;
}

std::uint64_t KvCluster::misdirect(Host host) {
    KvStore& store = *stores_[host];
    const auto items = store.list(std::nullopt, SIZE_MAX);
    for (const kv::Item& item : items) tracks_[item.key].excused = true;
    store.misdirect();
    return items.empty() ? 0 : 1;
}

void KvCluster::wipe(Host host) {
    for (const kv::SegmentKey& key : stores_[host]->wipe()) lose(host, key, false);
}

// Whether a peer that some view names an owner is in the core and lacks the segment.
bool KvCluster::lacks(const std::vector<Host>& core, PeerId owner, const kv::SegmentKey& key) {
    const auto at = replicators_.host_of(owner);
    if (!at || !std::ranges::binary_search(core, *at) || stores_[*at]->find(key)) return false;
    // Who lived there before, under another identity, is dead. Who has come since that one died may never have heard of
    // it, and then names other owners for as long as it is not lost.
    const node::KvReplicator* there = replicators_.find(*at);
    if (cluster_.peer(*at).id != owner || there == nullptr || !there->placement().owns(owner, key)) return false;
    const Track& track = tracks_[key];
    return !track.evicted && !track.refused.contains(*at) && !cluster_.peer(*at).disk.faults().full;
}

bool KvCluster::is_settled(const std::vector<Host>& core, std::string& why) {
    if (scenario_.kv.rate <= 0) return true;
    // What was missing at the last check most likely still is.
    if (lack_) {
        const node::KvReplicator* holder = replicators_.find(lack_->holder);
        if (holder != nullptr && stores_[lack_->holder]->find(lack_->key) &&
            holder->placement().owns(lack_->owner, lack_->key) && lacks(core, lack_->owner, lack_->key))
            return false;
        lack_.reset();
    }
    for (const Host host : core) {
        const node::KvReplicator* replicator = replicators_.find(host);
        if (replicator == nullptr) continue;
        if (replicator->repair().is_running) {
            why = fmt::format("K4: peer {} is still repairing", host);
            return false;
        }
        for (const kv::Item& item : stores_[host]->list(std::nullopt, SIZE_MAX)) {
            for (const PeerId owner : replicator->placement().owners(item.key)) {
                if (!lacks(core, owner, item.key)) continue;
                lack_ = {host, owner, item.key};
                why = fmt::format("K4: peer {} has segment {}, and its owner {} has not", host, name(item.key),
                                  to_string(owner));
                return false;
            }
        }
    }
    return true;
}

KvCounters KvCluster::counters() const {
    KvCounters counters = counters_;
    counters.corrupt = replicators_.corrupt();
    for (Host host = 0; host < cluster_.size(); ++host) {
        const node::KvReplicator* replicator = replicators_.last(host);
        if (replicator == nullptr) continue;
        counters.repaired += replicator->repair().offered;
        counters.passes += replicator->repair().passes;
        counters.healed += replicator->recovered();
    }
    return counters;
}

KvStoreEffects KvCluster::effects() const {
    KvStoreEffects sum;
    for (const auto& store : stores_) {
        const KvStoreEffects& one = store->effects();
        sum.stored += one.stored;
        sum.evicted += one.evicted;
        sum.refused_full += one.refused_full;
        sum.dropped += one.dropped;
        sum.lost += one.lost;
        sum.rotten += one.rotten;
        sum.misdirected += one.misdirected;
    }
    return sum;
}

std::string KvCluster::name(const kv::SegmentKey& key) const {
    return kv::to_string(key).substr(0, 12);
}

}  // namespace exa::sim
