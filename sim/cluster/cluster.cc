#include "sim/cluster/cluster.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"
#include "base/hash.h"
#include "sim/process/identity.h"
#include "sim/process/key_disk.h"
#include "sim/process/member_disk.h"
#include "wire/seal.h"

namespace exa::sim {

namespace {

constexpr std::string_view cluster_name = "exasim";
constexpr std::string_view deployment = "default";
constexpr std::string_view seed_name = "seeds.exasim:7946";
// Every peer's monotonic clock starts somewhere in the first day.
constexpr std::uint64_t clock_start_us_max = 86'400'000'000;

wire::PeerRecord first_record(const ClusterConfig& config, const Peer& peer) {
    wire::PeerRecord record;
    record.id = peer.id;
    record.generation = peer.generation;
    record.name = peer.name;
    record.state = wire::PeerState::starting;
    record.gossip = endpoint_of(peer.host, gossip_port);
    record.link = endpoint_of(peer.host, link_port);
    record.http = endpoint_of(peer.host, http_port);
    record.region = "sim";
    record.rack = peer.rack;
    record.kv_gib = config.kv ? 1 : 0;
    for (const Replica& replica : peer.replicas) record.replicas.push_back(replica.record());
    return record;
}

std::vector<Replica> make_replicas(const ClusterConfig& config, const Peer& peer) {
    std::vector<Replica> replicas;
    for (std::uint16_t slot = 0; slot < config.replicas; ++slot) {
        wire::ReplicaRecord record;
        record.id = {peer.id, deployment_id(deployment), slot};
        record.state = wire::ReplicaState::warming;
        record.deployment = deployment;
        record.model = Cluster::model_name((peer.boots - 1 + peer.host + slot) % config.models);
        record.version = "1";
        record.role = "chat";
        record.numerics = "sim";
        record.in_flight_limit = config.engine.in_flight_limit;
        const EngineConfig& engine = config.engine;
        const bool is_small = engine.small_context_every > 0 && peer.host % engine.small_context_every == 0;
        record.context_tokens = is_small ? engine.small_context_tokens : engine.context_tokens;
        replicas.emplace_back(config.engine, std::move(record));
    }
    return replicas;
}

std::vector<Endpoint> seeds_of(const ClusterConfig& config) {
    std::vector<Endpoint> seeds;
    for (Host host = 0; host < std::min(config.seeds, config.peers); ++host)
        seeds.push_back(endpoint_of(host, gossip_port));
    return seeds;
}

bool has_bytes(EventKind kind) {
    return kind == EventKind::datagram || kind == EventKind::sync;
}

}  // namespace

Cluster::Cluster(const ClusterConfig& config, std::uint64_t seed, const Crypto& crypto)
    : config_(config),
      crypto_(crypto),
      streams_(seed),
      tokens_(crypto, as_bytes("the simulator's root secret, which guards nothing")),
      network_(config.net, config.peers, streams_),
      seeds_(seeds_of(config)),
      names_(config.peers, seeds_),
      handlers_(static_cast<std::size_t>(EventKind::sweep) + 1) {
    EXA_CHECK(config.peers > 0 && config.rack_size > 0);
    peers_.reserve(config.peers);
    for (Host host = 0; host < config.peers; ++host) {
        Peer& peer = peers_.emplace_back(host, Disk(streams_.stream("disk", host)));
        peer.rack = "rack-" + std::to_string(host / config.rack_size);
        peer.name = name_of(host);
        Rng clock = streams_.stream("clock", host);
        peer.clock = LocalClock(TimePoint{Duration{static_cast<Duration::rep>(clock.below(clock_start_us_max))}});
    }
}

std::string Cluster::name_of(Host host) {
    return "peer-" + std::to_string(host);
}

std::string Cluster::model_name(std::uint64_t number) {
    return number == 0 ? "sim" : "sim-" + std::to_string(number);
}

ClusterId Cluster::id() {
    return cluster_id(cluster_name);
}

void Cluster::push(WorldTime at, EventKind kind, Host host, std::uint64_t arg, std::uint32_t boot, Host from) {
    Event event;
    event.at = std::max(at, now_);
    event.cause = cause_;
    event.arg = arg;
    event.host = host;
    event.from = from;
    event.boot = boot;
    event.kind = kind;
    queue_.push(event);
}

bool Cluster::run_until(WorldTime until) {
    while (!queue_.empty() && queue_.top().at <= until) {
        const Event event = queue_.pop();
        now_ = event.at;
        handle(event);
        if (trace_.stopped()) return false;
    }
    now_ = std::max(now_, until);
    return true;
}

void Cluster::note(const Event& event) {
    TraceEntry entry;
    entry.cause = event.cause;
    entry.at = event.at;
    entry.kind = event.kind;
    entry.host = event.host;
    entry.from = event.from;
    entry.arg = event.arg;
    if (has_bytes(event.kind)) entry.digest = hash64(bytes_.at(event.slot));
    trace_.note(entry);
    cause_ = trace_.entries();
    if (tap_ && has_bytes(event.kind)) {
        entry.number = trace_.entries();
        tap_(entry, bytes_.at(event.slot));
    }
}

void Cluster::call_handler(const Event& event) {
    if (const Handler& handler = handlers_[static_cast<std::size_t>(event.kind)]) handler(event);
}

void Cluster::handle(const Event& event) {
    // A timer that was armed again since is no event at all.
    if (event.kind == EventKind::timer) {
        const Peer& peer = peers_[event.host];
        if (event.boot != peer.boot || event.at != peer.armed_for) return;
    }
    ++events_;
    note(event);
    switch (event.kind) {
        case EventKind::told:
            break;
        case EventKind::boot:
            if (peers_[event.host].boot == 0 && !boots_frozen_) start(peers_[event.host]);
            break;
        case EventKind::serve:
            if (event.boot == peers_[event.host].boot && !boots_frozen_) serve(peers_[event.host]);
            break;
        case EventKind::work: {
            Peer& peer = peers_[event.host];
            if (event.boot != peer.boot) break;
            peer.work_planned = false;
            work(peer);
            break;
        }
        case EventKind::datagram:
        case EventKind::sync:
        case EventKind::link_broken:
        case EventKind::link_silent:
        case EventKind::timer:
        case EventKind::replica_ready:
        case EventKind::measure:
        case EventKind::lookup:
            deliver(event);
            break;
        case EventKind::step:
        case EventKind::receiver:
        case EventKind::kv:
        case EventKind::values:
            if (event.boot != 0)
                deliver(event);
            else
                call_handler(event);
            break;
        case EventKind::fault:
        case EventKind::heal:
        case EventKind::arrival:
        case EventKind::client:
        case EventKind::sweep:
            call_handler(event);
            break;
    }
}

void Cluster::release(const Event& event) {
    if (has_bytes(event.kind)) bytes_.take(event.slot);
}

void Cluster::deliver(const Event& event) {
    Peer& peer = peers_[event.host];
    if (!peer.is_up() || (event.boot != 0 && event.boot != peer.boot)) {
        release(event);
        return;
    }
    if (!peer.paused && now_ >= peer.busy_until && peer.inbox.empty()) {
        act(peer, event);
        return;
    }
    if (event.kind == EventKind::datagram) {
        if (peer.inbox_datagrams >= config_.socket_datagrams) {
            ++overflowed_;
            release(event);
            return;
        }
        ++peer.inbox_datagrams;
    }
    peer.inbox.push_back(event);
    if (!peer.paused) plan_work(peer, peer.busy_until);
}

void Cluster::plan_work(Peer& peer, WorldTime at) {
    if (std::exchange(peer.work_planned, true)) return;
    push(at, EventKind::work, peer.host, 0, peer.boot);
}

void Cluster::work(Peer& peer) {
    while (peer.is_up() && !peer.paused && !peer.inbox.empty()) {
        if (now_ < peer.busy_until) {
            plan_work(peer, peer.busy_until);
            return;
        }
        const Event event = peer.inbox.front();
        peer.inbox.pop_front();
        if (event.kind == EventKind::datagram) --peer.inbox_datagrams;
        act(peer, event);
    }
}

void Cluster::act(Peer& peer, const Event& event) {
    const TimePoint local = local_now(peer);
    if (peer.input_cost > Duration{0}) peer.busy_until = now_ + peer.input_cost;
    switch (event.kind) {
        case EventKind::datagram:
            take_datagram(peer, local, event);
            break;
        case EventKind::sync:
            (void)peer.node->handle_sync(local, peers_[event.from].id, bytes_.take(event.slot));
            break;
        case EventKind::link_silent: {
            const Peer& other = peers_[event.from];
            if (!other.paused && links_.answers(LinkPool::control, link_ends(peer, other))) break;
            links_.forget(LinkPool::control, peer.host, event.from);
            [[fallthrough]];
        }
        case EventKind::link_broken:
            peer.node->handle_link_broken(local, PeerId{event.arg}, Generation{event.slot});
            break;
        case EventKind::timer:
            peer.armed_for = world_never;
            peer.node->handle_timeout(local);
            break;
        case EventKind::replica_ready: {
            Replica& replica = peer.replicas[event.arg];
            if (peer.is_draining()) break;
            replica.set_state(wire::ReplicaState::ready);
            peer.node->set_replica(local, replica.record());
            break;
        }
        case EventKind::measure:
            measure(peer);
            push(now_ + config_.measure_period, EventKind::measure, peer.host, 0, peer.boot);
            break;
        case EventKind::lookup:
            peer.node->handle_lookup(local, seed_name, names_.look_up(peer.host, endpoint_of(peer.host, gossip_port)));
            break;
        case EventKind::step:
        case EventKind::receiver:
        case EventKind::kv:
        case EventKind::values:
            call_handler(event);
            // A step takes nothing from the node; what it gave to it has been carried out.
            return;
        default:
            break;
    }
    pump(peer);
}

void Cluster::take_datagram(Peer& peer, TimePoint local, const Event& event) {
    const Bytes bytes = bytes_.take(event.slot);
    const auto origin = static_cast<Origin>(event.arg);
    const bool strange = origin != Origin::member && watcher_ != nullptr;
    if (strange) watcher_->before_stranger(peer);
    // What a peer refuses it counts; nothing else follows.
    const bool taken = peer.node->handle_packet(local, endpoint_of(event.from, gossip_port), bytes).has_value();
    if (strange) watcher_->after_stranger(now_, peer, origin, taken);
    if (origin == Origin::member && taken && handled_) handled_(event.from, peer, bytes);
}

void Cluster::measure(Peer& peer) {
    if (peer.is_draining()) continue_drain(peer);
    // The disk was full when the ring changed.
    if (config_.encrypted && !(peer.node->keys() == peer.node->stored_keys())) keep_keys(peer);
    if (const auto members = peer.node->take_members_file(local_now(peer))) store_members(peer.disk, *members);
    std::vector<wire::LoadReport> loads;
    loads.reserve(peer.replicas.size());
    for (const Replica& replica : peer.replicas) loads.push_back(replica.load());
    peer.node->set_loads(local_now(peer), loads);
}

void Cluster::continue_drain(Peer& peer) {
    const auto is_busy = [](const Replica& replica) { return replica.in_flight() > 0; };
    const node::DrainStatus status{.serving = std::ranges::any_of(peer.replicas, is_busy),
                                   .answering = peer.entered_early > 0,
                                   .gateway_open = peer.entered > 0};
    std::vector<node::DrainStep> steps;
    peer.drain.handle_status(local_now(peer), status, steps);
    for (const node::DrainStep step : steps)
        if (step == node::DrainStep::leave)
            peer.node->leave(local_now(peer));
        else if (step == node::DrainStep::stop_replicas && on_replicas_stopped_)
            on_replicas_stopped_(peer.host);
}

void Cluster::pump(Peer& peer) {
    const std::uint32_t boot = peer.boot;
    while (auto datagram = peer.node->poll_transmit())
        send_datagram(peer.host, datagram->to, std::move(datagram->bytes));
    while (auto message = peer.node->poll_sync()) send_sync(peer, std::move(*message));
    while (const auto event = peer.node->poll_event()) {
        told(peer, *event);
        if (peer.boot != boot) return;
        if (event->kind == membership::EventKind::keys_changed) keep_keys(peer);
    }
    while (const auto name = peer.node->poll_lookup())
        push(now_ + config_.lookup_time, EventKind::lookup, peer.host, 0, peer.boot);
    arm(peer);
}

// What this adds to say is a new record, which waits for the next gossip anyway.
void Cluster::keep_keys(Peer& peer) {
    const membership::KeyRing ring = peer.node->keys();
    if (store_keys(peer.disk, ring)) peer.node->keys_stored(local_now(peer), ring);
}

ClusterKey Cluster::make_key(std::uint64_t number) const {
    Rng rng = streams_.stream("key", number);
    KeySecret secret;
    for (std::uint8_t& byte : secret) byte = static_cast<std::uint8_t>(rng.next());
    return cluster_key(crypto_, secret);
}

// What the operator's file gives a peer that starts. It stays the file of that host until a new disk, or a peer that
// had left and so was not waited for, gets a new one, with the key that is in use.
ClusterKey Cluster::key_file_for(Peer& peer) {
    const bool had_left = std::exchange(peer.had_left, false);
    if (peer.boots > 0 && (had_left || !has_keys(peer.disk)))
        for (const Peer& other : peers_)
            if (other.is_up()) return peer.key_file = *other.node->keys().primary();
    if (peer.key_file == ClusterKey{}) peer.key_file = make_key(0);
    return peer.key_file;
}

bool Cluster::order_keys(Host host, KeyStep step) {
    Peer& peer = peers_[host];
    if (!config_.encrypted || !peer.is_up()) return false;
    const TimePoint local = local_now(peer);
    const std::vector<KeyId> newest = peer.node->keys().newest_first();
    const std::uint64_t before = peer.node->keys().hash();
    if (step == KeyStep::add)
        (void)peer.node->add_key(local, make_key(++keys_made_), false);
    else if (step == KeyStep::use)
        (void)peer.node->use_key(local, newest.front(), false);
    else
        (void)peer.node->remove_key(local, newest.back(), false);
    const bool changed = peer.node->keys().hash() != before;
    pump(peer);
    return changed;
}

void Cluster::told(Peer& peer, const membership::Event& event) {
    TraceEntry entry;
    entry.cause = cause_;
    entry.at = now_;
    entry.kind = EventKind::told;
    entry.host = peer.host;
    const auto about = hosts_.find(event.peer.value);
    entry.from = about != hosts_.end() ? about->second : peer.host;
    entry.arg = static_cast<std::uint64_t>(event.kind);
    entry.digest = hash64(event.peer.value, event.generation.value, event.other.value);
    trace_.note(entry);
    if (watcher_ != nullptr) watcher_->on_told(now_, peer, event);
    if (event.kind == membership::EventKind::joined_cluster) peer.joined = true;
    if (event.kind == membership::EventKind::left_cluster) {
        peer.had_left = true;
        stop(peer);
    }
    if (event.refuse && peer.is_up()) {
        // As app/peer does: it stops serving at once; whoever supervises it starts it again.
        ++lives_refused_;
        stop(peer);
        push(now_ + config_.restart_delay, EventKind::boot, peer.host);
    }
}

void Cluster::arm(Peer& peer) {
    const WorldTime next = std::max(now_, peer.clock.when(peer.node->next_timeout()));
    if (next == peer.armed_for) return;
    peer.armed_for = next;
    if (next != world_never) push(next, EventKind::timer, peer.host, 0, peer.boot);
}

void Cluster::send_datagram(Host from, const Endpoint& to, Bytes bytes) {
    const Host target = host_of(to);
    if (target >= peers_.size()) return;
    EXA_CHECK(wire::is_sealed(bytes) == config_.encrypted);
    if (filter_ && !filter_(from, target, false, bytes)) return;
    inject(from, target, std::move(bytes), Origin::member);
}

void Cluster::inject(Host from, Host to, Bytes bytes, Origin origin) {
    const Network::Fate fate = network_.send_datagram(now_, from, to, bytes.size(), origin != Origin::member);
    for (std::size_t i = 0; i < fate.copies; ++i) {
        const bool last = i + 1 == fate.copies;
        Bytes copy = last ? std::move(bytes) : bytes;
        if (fate.copy[i].corrupt && !copy.empty()) {
            const std::uint64_t bit = network_.pick(copy.size() * 8);
            copy[bit / 8] ^= static_cast<std::uint8_t>(1U << (bit % 8));
        }
        const Origin is = fate.copy[i].corrupt && origin != Origin::outsider ? Origin::damaged : origin;
        Event event;
        event.at = now_ + fate.copy[i].delay;
        event.cause = cause_;
        event.arg = static_cast<std::uint64_t>(is);
        event.host = to;
        event.from = from;
        event.slot = bytes_.put(std::move(copy));
        // To the next process it would be a late update.
        event.boot = origin == Origin::replayed ? peers_[to].boot : 0;
        event.kind = EventKind::datagram;
        queue_.push(event);
    }
}

LinkEnds Cluster::link_ends(const Peer& from, const Peer& to) {
    return {from.host, to.host, from.boot, to.is_up() ? to.boot : 0, to.generation};
}

void Cluster::send_sync(Peer& peer, membership::SyncTransmit message) {
    if (message.link.port == 0) return;
    const Host to = host_of(message.link);
    if (to >= peers_.size()) return;
    if (filter_ && !filter_(peer.host, to, true, message.bytes)) return;
    const Peer& other = peers_[to];
    LinkResult result = links_.send(now_, LinkPool::control, link_ends(peer, other), message.bytes.size());
    if (result.kind == LinkResult::Kind::arrives && other.id != message.to) {
        // Another peer answers at this address: its hello says so.
        links_.forget(LinkPool::control, peer.host, to);
        result.kind = LinkResult::Kind::fails;
    }
    if (result.kind == LinkResult::Kind::vanishes && result.breaks == world_never) return;
    if (result.kind != LinkResult::Kind::arrives) {
        Event event;
        event.at = result.kind == LinkResult::Kind::fails ? result.at : result.breaks;
        event.cause = cause_;
        event.arg = message.to.value;
        event.host = peer.host;
        event.from = to;
        event.boot = peer.boot;
        const Generation meant = result.generation != Generation{} ? result.generation : message.generation;
        event.slot = static_cast<std::uint32_t>(meant.value);
        event.kind = result.kind == LinkResult::Kind::fails ? EventKind::link_broken : EventKind::link_silent;
        queue_.push(event);
        return;
    }
    peer.node->handle_link_works(local_now(peer), message.to);
    Event event;
    event.at = result.at;
    event.cause = cause_;
    event.host = to;
    event.from = peer.host;
    event.boot = other.boot;
    event.slot = bytes_.put(std::move(message.bytes));
    event.kind = EventKind::sync;
    queue_.push(event);
}

LinkResult Cluster::send_data(Host from, Host to, PeerId id, std::size_t bytes, LinkPool pool) {
    const Peer& other = peers_[to];
    LinkResult result = links_.send(now_, pool, link_ends(peers_[from], other), bytes);
    if (result.kind == LinkResult::Kind::arrives && other.id != id) {
        links_.forget(pool, from, to);
        result.kind = LinkResult::Kind::fails;
    }
    return result;
}

void Cluster::data_link_broken(Peer& at, Host other, Generation generation) {
    links_.forget(LinkPool::data, at.host, other);
    at.dispatcher->handle_peer_broken(local_now(at), peers_[other].id);
    at.node->handle_link_broken(local_now(at), peers_[other].id, generation);
    pump(at);
}

void Cluster::boot(Host host, WorldTime at) {
    push(at, EventKind::boot, host);
}

void Cluster::start(Peer& peer) {
    const PeerId fresh{streams_.stream("identity", std::uint64_t{peer.host} << 32 | peer.wipes).next() | 1};
    const IdentityOpened opened = open_identity(peer.disk, fresh, config_.mutant);
    if (!opened.identity) {
        ++boots_refused_;
        push(now_ + config_.restart_delay, EventKind::boot, peer.host);
        return;
    }
    if (config_.encrypted) {
        auto keys = load_keys(crypto_, peer.disk, key_file_for(peer));
        if (!keys) {
            ++boots_refused_;
            push(now_ + config_.restart_delay, EventKind::boot, peer.host);
            return;
        }
        peer.keys = std::move(*keys);
    }
    peer.boot = ++peer.boots;
    peer.id = opened.identity->id;
    peer.generation = opened.identity->generation;
    hosts_[peer.id.value] = peer.host;
    push(now_ + opened.took, EventKind::serve, peer.host, 0, peer.boot);
}

membership::JoinRequest Cluster::join_request(Peer& peer) const {
    membership::JoinRequest request;
    if (config_.named_seeds)
        request.seeds.emplace_back(seed_name);
    else
        for (const Endpoint& seed : seeds_) request.seeds.push_back(to_string(seed));
    request.members = load_members(peer.disk);
    return request;
}

void Cluster::serve(Peer& peer) {
    const std::uint64_t life = std::uint64_t{peer.host} << 32 | peer.boot;
    const TimePoint local = local_now(peer);
    peer.replicas = make_replicas(config_, peer);
    peer.node = std::make_unique<node::Node>(node::Config{.cluster = cluster_id(cluster_name),
                                                          .membership = config_.membership,
                                                          .keys = peer.keys,
                                                          .crypto = &crypto_,
                                                          .rings = rings_,
                                                          .states = states_},
                                             first_record(config_, peer), streams_.seed_of("node", life), local);
    peer.dispatcher =
        std::make_unique<router::Dispatcher>(config_.router, tokens_, streams_.stream("dispatcher", life));
    if (watcher_ != nullptr) watcher_->on_up(now_, peer);
    peer.node->join(local, join_request(peer));
    measure(peer);
    push(now_ + config_.measure_period, EventKind::measure, peer.host, 0, peer.boot);
    for (std::size_t slot = 0; slot < peer.replicas.size(); ++slot)
        push(now_ + config_.engine.warm * (slot + 1), EventKind::replica_ready, peer.host, slot, peer.boot);
    pump(peer);
}

void Cluster::stop(Peer& peer) {
    if (watcher_ != nullptr && peer.is_up()) watcher_->on_down(now_, peer);
    peer.node.reset();
    peer.dispatcher.reset();
    peer.replicas.clear();
    for (const Event& event : peer.inbox) release(event);
    peer.inbox.clear();
    peer.inbox_datagrams = 0;
    peer.work_planned = false;
    peer.paused = false;
    peer.busy_until = WorldTime{};
    peer.boot = 0;
    peer.joined = false;
    peer.entered = 0;
    peer.entered_early = 0;
    peer.drain = node::Drain({});
    peer.armed_for = world_never;
    links_.forget_all_of(peer.host);
}

void Cluster::crash(Host host) {
    Peer& peer = peers_[host];
    if (peer.boot == 0) return;
    peer.disk.crash();
    stop(peer);
}

void Cluster::wipe(Host host) {
    peers_[host].disk.wipe();
    ++peers_[host].wipes;
}

void Cluster::leave(Host host) {
    Peer& peer = peers_[host];
    if (!peer.is_up() || peer.is_draining()) return;
    peer.drain = node::Drain(config_.drain);
    std::vector<node::DrainStep> steps;
    peer.drain.start(local_now(peer), steps);
    peer.node->set_peer_state(local_now(peer), wire::PeerState::draining);
    for (Replica& replica : peer.replicas) replica.set_state(wire::ReplicaState::draining);
    measure(peer);
    pump(peer);
}

void Cluster::pause(Host host) {
    if (peers_[host].is_up()) peers_[host].paused = true;
}

void Cluster::resume(Host host) {
    Peer& peer = peers_[host];
    if (!std::exchange(peer.paused, false)) return;
    peer.resumed_at = now_;
    if (!peer.inbox.empty()) plan_work(peer, now_);
}

void Cluster::set_input_cost(Host host, Duration cost) {
    peers_[host].input_cost = cost;
    if (cost == Duration{0}) {
        peers_[host].resumed_at = now_;
        peers_[host].busy_until = std::min(peers_[host].busy_until, now_);
        if (!peers_[host].inbox.empty()) plan_work(peers_[host], now_);
    }
}

void Cluster::jump_clock(Host host, Duration by) {
    Peer& peer = peers_[host];
    if (by >= Duration{0}) peer.clock.jump(now_, by);
    peer.clock.jump_wall(by);
    if (peer.is_up()) arm(peer);
}

void Cluster::set_drift(Host host, std::int64_t ppm) {
    Peer& peer = peers_[host];
    peer.clock.set_drift(now_, ppm);
    if (peer.is_up()) arm(peer);
}

}  // namespace exa::sim
