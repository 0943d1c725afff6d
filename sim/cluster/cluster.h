// Cluster: all peers on one time line, one network and their own disks. It drives each peer's node and dispatcher in
// the order that node.h asks for and app/control follows: inputs, then datagrams, link messages and events, then the
// timer. The views, which are pure functions of the node, are asked for when somebody reads them.
//
// One seed decides everything: no clock, no address and no unordered iteration reaches an outcome.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/crypto.h"
#include "gateway/config.h"
#include "membership/event.h"
#include "sim/net/links.h"
#include "sim/net/names.h"
#include "sim/net/network.h"
#include "sim/process/peer.h"
#include "sim/world/byte_pool.h"
#include "sim/world/event_queue.h"
#include "sim/world/streams.h"
#include "sim/world/trace.h"

namespace exa::sim {

struct ClusterConfig {
    std::uint32_t peers = 256;
    std::uint32_t replicas = 12;  // of each peer
    // Models that there are; a host's slots serve them in turn, and each life of it begins with the next one.
    std::uint32_t models = 1;
    std::uint32_t rack_size = 25;
    bool encrypted = false;   // gossip really is; links are taken for safe
    std::uint32_t seeds = 3;  // the first hosts are everybody's seeds
    Duration measure_period = std::chrono::seconds{1};
    bool named_seeds = false;  // they are one name, which the name service resolves
    Duration lookup_time = std::chrono::milliseconds{20};
    Duration restart_delay = std::chrono::seconds{5};  // of a process that refused to serve
    std::uint32_t socket_datagrams = 160;              // a paused peer's receive buffer
    bool kv = false;                                   // peers keep KV cache for one another
    membership::Config membership;
    router::Config router;
    gateway::Config gateway;
    node::DrainConfig drain;
    Mutant mutant = Mutant::none;  // of what belongs to no core with a config of its own
    NetConfig net;
    EngineConfig engine;
};

// Where a datagram comes from, as whoever put it on the network says.
enum class Origin : std::uint8_t {
    member,    // a node made it, and it is as it was
    damaged,   // a node made it, and bits of it are flipped
    outsider,  // of no node's making: garbage, another cluster's, too long
    replayed   // the very process that gets it handled the same bytes before
};

// Who is told what happens; the oracles and the metrics. Called in the middle of an event: it must not act.
class Watcher {
  public:
    virtual ~Watcher() = default;
    virtual void on_up(WorldTime now, const Peer& peer) = 0;
    virtual void on_down(WorldTime now, const Peer& peer) = 0;
    virtual void on_told(WorldTime now, const Peer& observer, const membership::Event& event) = 0;
    // A peer handles a datagram that is not a member's: before it, and after it before anything follows from it.
    virtual void before_stranger(const Peer& peer) = 0;
    virtual void after_stranger(WorldTime now, const Peer& peer, Origin origin, bool taken) = 0;
};

// Many members: the parts of one world, each of a type of its own, the hooks of those that watch it, and its counters.
class Cluster {
  public:
    // A hand for events of the kinds that are not the cluster's own (fault, heal, arrival, step, sweep). A step that
    // names a process waits while that one is stopped or busy, and is dropped when it is gone.
    using Handler = std::function<void(const Event&)>;
    // Sees every message of membership before the network does and may change it; false drops it. For mutants and
    // attackers.
    using Filter = std::function<bool(Host from, Host to, bool link, Bytes& bytes)>;
    // Sees each datagram of a member that its receiver, in this life, has taken.
    using Handled = std::function<void(Host from, const Peer& to, const Bytes& bytes)>;
    // Sees the bytes of each message as it is handled, with its trace entry.
    using Tap = std::function<void(const TraceEntry& entry, const Bytes& bytes)>;

    // `crypto` outlives it.
    Cluster(const ClusterConfig& config, std::uint64_t seed, const Crypto& crypto);

    const ClusterConfig& config() const { return config_; }
    static ClusterId id();  // as its packets carry it
    static std::string name_of(Host host);
    static std::string model_name(std::uint64_t number);
    WorldTime now() const { return now_; }
    std::size_t size() const { return peers_.size(); }
    Peer& peer(Host host) { return peers_[host]; }
    const Peer& peer(Host host) const { return peers_[host]; }
    TimePoint local_now(const Peer& peer) const { return peer.clock.at(now_); }
    Network& network() { return network_; }
    Names& names() { return names_; }
    const Names& names() const { return names_; }
    const Network& network() const { return network_; }
    const Streams& streams() const { return streams_; }
    Trace& trace() { return trace_; }
    const router::SessionTokens& tokens() const { return tokens_; }
    const BytePool& bytes() const { return bytes_; }
    const EventQueue& queue() const { return queue_; }
    std::uint64_t events() const { return events_; }
    std::uint64_t datagrams_overflowed() const { return overflowed_; }
    std::uint64_t boots_refused() const { return boots_refused_; }
    std::uint64_t lives_refused() const { return lives_refused_; }

    void watch(Watcher* watcher) { watcher_ = watcher; }
    void handle_with(EventKind kind, Handler handler) {
        handlers_[static_cast<std::size_t>(kind)] = std::move(handler);
    }
    void filter(Filter filter) { filter_ = std::move(filter); }
    void on_handled(Handled handled) { handled_ = std::move(handled); }
    void tap(Tap tap) { tap_ = std::move(tap); }
    // Ends the answers under way at the replicas of a host whose drain is over its deadline.
    void on_replicas_stopped(std::function<void(Host)> stop) { on_replicas_stopped_ = std::move(stop); }

    void push(WorldTime at, EventKind kind, Host host = 0, std::uint64_t arg = 0, std::uint32_t boot = 0,
              Host from = 0);
    // Runs everything up to `until`; false when the trace's listener ended the run.
    bool run_until(WorldTime until);

    // No process starts any more.
    void freeze_boots() { boots_frozen_ = true; }

    // Orders, from a handler or between runs.
    void boot(Host host, WorldTime at);
    void crash(Host host);
    void wipe(Host host);
    void leave(Host host);
    void pause(Host host);
    void resume(Host host);
    void set_input_cost(Host host, Duration cost);
    void jump_clock(Host host, Duration by);
    void set_drift(Host host, std::int64_t ppm);
    // An operator's command about the keys of an encrypted cluster, at that peer: a fresh key, the newest one is to be
    // used, the oldest one is to go. False when it was refused.
    enum class KeyStep : std::uint8_t { add, use, remove };
    bool order_keys(Host host, KeyStep step);
    // Puts bytes of no peer's making on the network.
    void inject(Host from, Host to, Bytes bytes, Origin origin);
    // Something other than the cluster used the node of this peer: carries out what follows.
    void pump(Peer& peer);
    // A message of the data plane, or of KV (`pool`), to the peer of this id; the result says when and whether it
    // arrives.
    LinkResult send_data(Host from, Host to, PeerId id, std::size_t bytes, LinkPool pool = LinkPool::data);
    // The data plane of `at` found its link to `other` broken.
    void data_link_broken(Peer& at, Host other, Generation generation);

  private:
    void handle(const Event& event);
    void deliver(const Event& event);
    void act(Peer& peer, const Event& event);
    void take_datagram(Peer& peer, TimePoint local, const Event& event);
    void release(const Event& event);
    void work(Peer& peer);
    void plan_work(Peer& peer, WorldTime at);
    void start(Peer& peer);
    void serve(Peer& peer);
    void send_datagram(Host from, const Endpoint& to, Bytes bytes);
    static LinkEnds link_ends(const Peer& from, const Peer& to);
    void send_sync(Peer& peer, membership::SyncTransmit message);
    void call_handler(const Event& event);
    membership::JoinRequest join_request(Peer& peer) const;
    void told(Peer& peer, const membership::Event& event);
    void keep_keys(Peer& peer);
    ClusterKey make_key(std::uint64_t number) const;  // 0: what every peer begins with
    ClusterKey key_file_for(Peer& peer);
    void arm(Peer& peer);
    void measure(Peer& peer);
    void continue_drain(Peer& peer);
    void stop(Peer& peer);
    void note(const Event& event);

    ClusterConfig config_;
    const Crypto& crypto_;
    Streams streams_;
    std::uint64_t keys_made_ = 0;
    router::SessionTokens tokens_;
    std::shared_ptr<ring::RingPool> rings_ = std::make_shared<ring::RingPool>();
    std::shared_ptr<membership::InternPool> states_ = std::make_shared<membership::InternPool>();
    Network network_;
    Links links_{network_};
    EventQueue queue_;
    BytePool bytes_;
    Trace trace_;
    std::vector<Peer> peers_;
    std::unordered_map<std::uint64_t, Host> hosts_;  // by peer id; only looked up
    std::vector<Endpoint> seeds_;
    Names names_;
    Watcher* watcher_ = nullptr;
    std::vector<Handler> handlers_;
    Filter filter_;
    Handled handled_;
    Tap tap_;
    std::function<void(Host)> on_replicas_stopped_;
    bool boots_frozen_ = false;
    WorldTime now_{};
    std::uint64_t cause_ = 0;
    std::uint64_t events_ = 0;
    std::uint64_t overflowed_ = 0;
    std::uint64_t boots_refused_ = 0;
    std::uint64_t lives_refused_ = 0;  // by the cluster: a clash of names or identities
};

}  // namespace exa::sim
