#include "sim/kv/kv_cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "node/kv_placement.h"

namespace exa::sim {

namespace {

constexpr std::chrono::milliseconds look_period{200};
// Segments, with every look.
constexpr std::size_t scrubbed_at_once = 4;
// As an hour of production is to a day.
constexpr std::chrono::seconds repair_period{100};
// Of one question or answer that holds no segments.
constexpr std::size_t small_message = 200;
// The event's `arg` of a turn; others are numbers of messages.
constexpr std::uint64_t turn_arg = ~std::uint64_t{0};
// A second loss sooner than this after the first one is not held against repair.
constexpr std::chrono::seconds repair_time{90};

template <class... Handlers>
struct Overloaded : Handlers... {
    using Handlers::operator()...;
};

ChatFaults chat_faults(Mutant mutant) {
    return {.one_salt = mutant == Mutant::tenants_share_salt, .one_fingerprint = mutant == Mutant::models_share_keys};
}

}  // namespace

KvCluster::KvCluster(const Scenario& scenario, Cluster& cluster, Oracles& oracles, const Crypto& crypto, Mutant mutant)
    : scenario_(scenario),
      cluster_(cluster),
      oracles_(oracles),
      mutant_(mutant),
      sealer_(crypto, as_bytes("root")),
      rng_(cluster.streams().stream("kv")),
      chats_(crypto, scenario.kv.chats, chat_faults(mutant), cluster.streams().stream("chats")),
      services_(cluster.size()) {
    for (Host host = 0; host < cluster.size(); ++host)
        services_[host].store = std::make_unique<KvStore>(
            sealer_, cluster.peer(host).disk, std::uint64_t{scenario.kv.capacity_segments} * kv::segment_block,
            cluster.streams().stream("kv store", host));
    cluster.handle_with(EventKind::kv, [this](const Event& event) { handle(event); });
}

void KvCluster::start() {
    if (scenario_.kv.rate <= 0) return;
    cluster_.push(WorldTime{scenario_.kv.from}, EventKind::kv, 0, turn_arg);
    for (Host host = 0; host < cluster_.size(); ++host) push(cluster_.now(), {host, host, Look{}}, 0);
}

void KvCluster::handle(const Event& event) {
    if (event.arg == turn_arg) return begin_turn();
    auto message = messages_.extract(event.arg);
    if (message.empty()) return;
    act(message.mapped().to, message.mapped().what, message.mapped().from);
}

// Of a host whose process is up, its service; made anew with each process, as what it knew is gone.
KvCluster::Service* KvCluster::service_of(Host host) {
    const Peer& peer = cluster_.peer(host);
    Service& service = services_[host];
    if (service.boot != peer.boot || !peer.is_up()) {
        if (service.exchange) service.store->crash();
        service.exchange.reset();
        std::erase_if(heals_, [host](const auto& heal) { return heal.first.first == host; });
        service.boot = 0;
        service.placed = 0;
        service.armed_for = world_never;
    }
    if (!peer.is_up()) return nullptr;
    if (!service.exchange) {
        service.boot = peer.boot;
        kv::ExchangeConfig config;
        config.repair.period = repair_period;
        service.exchange = std::make_unique<kv::Exchange>(peer.id, *service.store, config);
        hosts_[peer.id] = host;
    }
    return &service;
}

void KvCluster::begin_turn() {
    if (stopped_) return;
    cluster_.push(cluster_.now() + duration_of(-std::log(1 - rng_.unit()) / scenario_.kv.rate), EventKind::kv, 0,
                  turn_arg);
    const Host host = static_cast<Host>(rng_.below(cluster_.size()));
    const std::uint32_t chat = chats_.pick();
    Service* service = service_of(host);
    if (service == nullptr || cluster_.peer(host).paused) return;
    ++counters_.turns;
    chats_.grow(chat, scenario_.kv.turn_segments);
    Turn turn{host, service->boot, chat, chats_.chat(chat).segments, {}};
    std::vector<kv::SegmentKey> keys;
    for (std::uint32_t place = 0; place < turn.segments.size(); ++place) {
        const kv::SegmentKey& key = turn.segments[place].key;
        keys.push_back(key);
        const auto held =
            service->store->get(cluster_.peer(host).clock.wall(cluster_.now()), key, mutant_ == Mutant::mac_unchecked);
        turn.held.push_back(held != nullptr);
        if (held) check(host, turn, place, *held);
        counters_.held += held != nullptr ? 1 : 0;
    }
    const kv::LoadId id{++numbered_};
    std::vector<bool> held = turn.held;
    turns_.emplace(std::pair(host, id), std::move(turn));
    service->exchange->load(cluster_.local_now(cluster_.peer(host)), id, std::move(keys), std::move(held));
    pump(host);
}

void KvCluster::act(Host host, const Happening& what, Host from) {
    if (std::holds_alternative<Look>(what)) push(cluster_.now() + look_period, {host, host, Look{}}, 0);
    Service* service = service_of(host);
    if (service == nullptr || cluster_.peer(host).paused) return;
    kv::Exchange& exchange = *service->exchange;
    const TimePoint now = cluster_.local_now(cluster_.peer(host));
    std::visit(Overloaded{[&](const Question& one) { answer(host, from, one); },
                          [&](const Items& one) { exchange.handle_items(now, one.id, one.items); },
                          [&](const Segment& one) { exchange.handle_segment(now, one.id, one.segment); },
                          [&](const Outcomes& one) { exchange.handle_outcomes(now, one.id, one.outcomes); },
                          [&](const Failed& one) { exchange.handle_failed(now, one.id); },
                          [&](const Written& one) {
                              const WallTime wall = cluster_.peer(host).clock.wall(cluster_.now());
                              service->store->finish(wall, one.item.key);
                              Track& track = tracks_[one.item.key];
                              track.on.insert(host);
                              track.refused.erase(host);
                              track.was_safe = track.was_safe || track.on.size() >= 2;
                              if (service->store->physical_bytes() > service->store->capacity())
                                  oracles_.violate(
                                      "K5", fmt::format("the store of peer {} takes {} bytes of {}", host,
                                                        service->store->physical_bytes(), service->store->capacity()));
                              if (one.own)
                                  exchange.add(now, one.item);
                              else if (mutant_ != Mutant::early_publish)
                                  exchange.handle_stored(now, one.item, kv::OfferOutcome::held);
                          },
                          [](const Wake&) {},
                          [&](const Look&) {
                              scrub(host);
                              const auto view = cluster_.peer(host).node->members();
                              if (view->number == service->placed) return;
                              service->placed = view->number;
                              exchange.handle_placement(
                                  now, std::make_shared<const kv::Placement>(node::kv_placement(*view)));
                          }},
               what);
    // Whatever happened may have been late for a timer.
    if (exchange.next_timeout() <= now) exchange.handle_timeout(now);
    pump(host);
}

void KvCluster::answer(Host host, Host from, const Question& asked) {
    Service& service = services_[host];
    const WallTime wall = cluster_.peer(host).clock.wall(cluster_.now());
    switch (asked.question.kind) {
        case kv::QuestionKind::look: {
            std::vector<kv::Item> items;
            for (const kv::Item& item : asked.question.items)
                items.push_back(service.store->find(item.key).value_or(kv::Item{item.key}));
            send(host, from, small_message + 44 * items.size(), Items{asked.id, std::move(items)}, std::nullopt);
            return;
        }
        case kv::QuestionKind::fetch:
            for (const kv::Item& item : asked.question.items) {
                const bool was_here = service.store->find(item.key).has_value();
                auto segment = service.store->get(wall, item.key, mutant_ == Mutant::mac_unchecked);
                if (was_here && !segment) heal(host, item.key);
                send(host, from, segment ? scenario_.kv.segment_bytes : small_message,
                     Segment{asked.id, item.key, std::move(segment)}, std::nullopt);
            }
            return;
        case kv::QuestionKind::offer:
        case kv::QuestionKind::move: {
            const kv::OfferId id{++numbered_};
            offers_[{host, id}] = {from, asked.id};
            service.exchange->handle_offer(cluster_.local_now(cluster_.peer(host)), id, cluster_.peer(from).id,
                                           asked.question);
            return;
        }
    }
}

void KvCluster::pump(Host host) {
    Service& service = services_[host];
    while (service.exchange) {
        auto output = service.exchange->poll_output();
        if (!output) break;
        carry_out(host, std::move(*output));
    }
    if (!service.exchange) return;
    const WorldTime next = std::max(cluster_.now(), cluster_.peer(host).clock.when(service.exchange->next_timeout()));
    // A look comes soon enough for what is due later than that.
    if (next >= cluster_.now() + look_period || next == service.armed_for) return;
    service.armed_for = next;
    push(next, {host, host, Wake{}}, service.boot);
}

void KvCluster::carry_out(Host host, kv::Exchange::Output output) {
    using Exchange = kv::Exchange;
    std::visit(Overloaded{[&](const Exchange::Send& send) { ask(host, send); }, [](const Exchange::Drop&) {},
                          [](const Exchange::LookCold&) {}, [](const Exchange::ReadCold&) {},
                          [&](const Exchange::Give& give) {
                              if (const auto healed = heals_.find({host, give.id}); healed != heals_.end()) {
                                  const auto bytes = static_cast<std::uint32_t>(give.segment->size());
                                  write(host, give.segment, {healed->second, 0, bytes}, true);
                                  ++counters_.healed;
                              }
                              const auto turn = turns_.find({host, give.id});
                              if (turn == turns_.end()) return;
                              ++counters_.handed_out;
                              check(host, turn->second, give.place, *give.segment);
                          },
                          [&](const Exchange::LoadOver& over) {
                              heals_.erase({host, over.id});
                              const auto turn = turns_.extract({host, over.id});
                              if (!turn.empty()) end_turn(turn.mapped(), over.given);
                          },
                          [&](const Exchange::Store& store) { write(host, store.segment, store.item, false); },
                          [&](const Exchange::Answer& answer) {
                              const auto offer = offers_.extract({host, answer.id});
                              if (offer.empty()) return;
                              const auto [to, id] = offer.mapped();
                              send(host, to, small_message, Outcomes{id, answer.outcomes}, std::nullopt);
                          },
                          [](const Exchange::Spare&) {}, [](const Exchange::Found&) {},
                          [&](const Exchange::Kept& kept) {
                              ++counters_.acknowledged;
                              const auto by = hosts_.find(kept.by);
                              if (by == hosts_.end()) return;
                              const Track& track = tracks_[kept.item.key];
                              const bool lost_since =
                                  track.last_loss > WorldTime{} && cluster_.now() - track.last_loss < repair_time;
                              if (track.on.contains(by->second) || track.excused || lost_since) return;
                              oracles_.violate("K2", fmt::format("peer {} says that it has segment {}, which is not on "
                                                                 "its disk",
                                                                 by->second, name(kept.item.key)));
                          }},
               std::move(output));
}

void KvCluster::ask(Host host, const kv::Exchange::Send& asked) {
    const bool repairs = services_[host].exchange->repair().is_running;
    if (mutant_ == Mutant::lost_repair && asked.question.kind == kv::QuestionKind::offer && repairs) {
        later(host, std::chrono::milliseconds{1},
              Outcomes{asked.id, std::vector(asked.question.items.size(), kv::OfferOutcome::held)});
        return;
    }
    const auto to = hosts_.find(asked.to);
    if (to == hosts_.end() || cluster_.peer(to->second).id != asked.to)
        return later(host, std::chrono::milliseconds{1}, Failed{asked.id});
    send(host, to->second, small_message + 44 * asked.question.items.size(), Question{asked.id, asked.question},
         asked.id);
}

// `fails`: which question of the sender's fails when the message cannot be sent.
void KvCluster::send(Host from, Host to, std::size_t bytes, Happening what, std::optional<kv::AskId> fails) {
    const LinkResult result = cluster_.send_data(from, to, cluster_.peer(to).id, bytes, LinkPool::bulk);
    switch (result.kind) {
        case LinkResult::Kind::arrives:
            if (auto* segment = std::get_if<Segment>(&what); segment != nullptr && segment->segment) {
                // As the receiver does, before anything else sees it.
                if (mutant_ != Mutant::mac_unchecked && !sealer_.verify(segment->key, segment->segment->view())) {
                    ++counters_.corrupt;
                    segment->segment = nullptr;
                }
            }
            push(result.at, {from, to, std::move(what)}, cluster_.peer(to).boot);
            return;
        case LinkResult::Kind::fails:
            if (fails) push(result.at, {to, from, Failed{*fails}}, cluster_.peer(from).boot);
            return;
        case LinkResult::Kind::vanishes:
            return;
    }
}

void KvCluster::later(Host host, Duration wait, Happening what) {
    push(cluster_.now() + wait, {host, host, std::move(what)}, cluster_.peer(host).boot);
}

void KvCluster::push(WorldTime at, Message message, std::uint32_t boot) {
    const Host to = message.to;
    const std::uint64_t number = ++numbered_;
    messages_.emplace(number, std::move(message));
    cluster_.push(at, EventKind::kv, to, number, boot);
}

void KvCluster::write(Host host, const kv::SealedSegment& segment, const kv::Item& item, bool own) {
    Service& service = services_[host];
    const TimePoint now = cluster_.local_now(cluster_.peer(host));
    std::vector<kv::SegmentKey> gone;
    const auto begun = service.store->begin(cluster_.peer(host).clock.wall(cluster_.now()), segment, gone);
    for (const kv::SegmentKey& key : gone) {
        tracks_[key].evicted = true;
        lose(host, key, true);
    }
    switch (begun) {
        case KvStore::Begun::writing:
            if (mutant_ == Mutant::early_publish && !own)
                service.exchange->handle_stored(now, item, kv::OfferOutcome::held);
            later(host, cluster_.peer(host).disk.faults().sync_time, Written{item, own});
            return;
        case KvStore::Begun::present:
            if (!own) service.exchange->handle_stored(now, item, kv::OfferOutcome::later);
            return;
        case KvStore::Begun::refused:
            tracks_[item.key].refused.insert(host);
            if (!own) service.exchange->handle_stored(now, item, kv::OfferOutcome::refused);
            return;
    }
}

void KvCluster::check(Host host, const Turn& turn, std::uint32_t place, const kv::SegmentBuffer& segment) {
    const Chats::Segment& wanted = turn.segments[place];
    const auto content = Chats::read(segment);
    if (content == wanted.content) return;
    if (content && content->tenant != wanted.content.tenant)
        oracles_.violate("K6", fmt::format("peer {} hands tenant {} what tenant {} has sent", host,
                                           wanted.content.tenant, content->tenant));
    else
        oracles_.violate("K1", fmt::format("peer {} hands out segment {} with other contents than its tokens have",
                                           host, name(wanted.key)));
}

// What was handed out goes to the peer's own store too; the rest is computed.
void KvCluster::end_turn(const Turn& turn, std::uint32_t given) {
    Service* service = service_of(turn.host);
    if (service == nullptr || service->boot != turn.boot) return;
    for (std::uint32_t place = 0; place < turn.segments.size(); ++place) {
        if (place < given && turn.held[place]) continue;
        const Chats::Segment& segment = turn.segments[place];
        counters_.made += place >= given ? 1 : 0;
        const auto sealed = chats_.make(sealer_, segment, ++numbered_);
        write(turn.host, sealed, {segment.key, 0, static_cast<std::uint32_t>(sealed->size())}, true);
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

// As app/kv_scrubber reads the disk, somewhat faster, so that a round ends within a run.
void KvCluster::scrub(Host host) {
    if (mutant_ == Mutant::mac_unchecked) return;
    for (const kv::SegmentKey& key : services_[host].store->scrub(scrubbed_at_once)) heal(host, key);
}

// What was bad on the disk comes back from whoever has it.
void KvCluster::heal(Host host, const kv::SegmentKey& key) {
    const kv::LoadId id{++numbered_};
    heals_.emplace(std::pair(host, id), key);
    services_[host].exchange->load(cluster_.local_now(cluster_.peer(host)), id, {key}, {false});
}

std::uint64_t KvCluster::rot(Host host, double share) {
    KvStore& store = *services_[host].store;
    std::uint64_t changed = 0;
    const auto count = static_cast<std::size_t>(share * static_cast<double>(store.list(std::nullopt, SIZE_MAX).size()));
    for (std::size_t i = 0; i < std::max<std::size_t>(count, 1); ++i) changed += store.rot() ? 1 : 0;
    // What rots is lost without anybody's knowing, and so are its copies if they rot, too.
    if (changed > 0)
        for (const kv::Item& item : store.list(std::nullopt, SIZE_MAX)) tracks_[item.key].excused = true;
    return changed;
}

std::uint64_t KvCluster::misdirect(Host host) {
    KvStore& store = *services_[host].store;
    const auto items = store.list(std::nullopt, SIZE_MAX);
    for (const kv::Item& item : items) tracks_[item.key].excused = true;
    store.misdirect();
    return items.empty() ? 0 : 1;
}

void KvCluster::wipe(Host host) {
    for (const kv::SegmentKey& key : services_[host].store->wipe()) lose(host, key, false);
}

bool KvCluster::is_settled(const std::vector<Host>& core, std::string& why) {
    if (scenario_.kv.rate <= 0) return true;
    for (const Host host : core) {
        Service* service = service_of(host);
        if (service == nullptr) continue;
        const kv::Exchange& exchange = *service->exchange;
        if (exchange.repair().is_running) {
            why = fmt::format("K4: peer {} is still repairing", host);
            return false;
        }
        for (const kv::Item& item : service->store->list(std::nullopt, SIZE_MAX)) {
            for (const PeerId owner : exchange.placement().owners(item.key)) {
                const auto at = hosts_.find(owner);
                if (at == hosts_.end() || !std::ranges::binary_search(core, at->second)) continue;
                // Who lived there before, under another identity, is dead. Who has come since that one died may never
                // have heard of it, and then names other owners for as long as it is not lost.
                Service* other = service_of(at->second);
                if (cluster_.peer(at->second).id != owner || other == nullptr ||
                    !other->exchange->placement().owns(owner, item.key))
                    continue;
                const Track& track = tracks_[item.key];
                if (services_[at->second].store->find(item.key) || track.evicted) continue;
                if (track.refused.contains(at->second) || cluster_.peer(at->second).disk.faults().full) continue;
                why = fmt::format("K4: peer {} has segment {}, and its owner peer {} has not", host, name(item.key),
                                  at->second);
                return false;
            }
        }
    }
    return true;
}

KvCounters KvCluster::counters() const {
    KvCounters counters = counters_;
    for (const Service& service : services_) {
        if (!service.exchange) continue;
        counters.repaired += service.exchange->repair().offered;
        counters.passes += service.exchange->repair().passes;
    }
    return counters;
}

KvStoreEffects KvCluster::effects() const {
    KvStoreEffects sum;
    for (const Service& service : services_) {
        const KvStoreEffects& one = service.store->effects();
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
