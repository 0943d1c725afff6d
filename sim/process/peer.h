// Peer: one simulated process and the machine under it: the very node and dispatcher that production runs, a disk, a
// clock, a processor that may be slow or stopped, and replicas without a model behind them.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/endpoint.h"
#include "base/ids.h"
#include "node/drain.h"
#include "node/node.h"
#include "router/dispatcher.h"
#include "sim/disk/disk.h"
#include "sim/engine/replica.h"
#include "sim/process/local_clock.h"
#include "sim/world/event_queue.h"

namespace exa::sim {

// Many members, in three parts: the machine, the run of the process on it, and the processor.
struct Peer {
    explicit Peer(Host number, Disk given) : host(number), disk(std::move(given)) {}

    Host host;
    std::string rack;
    std::string name;
    Disk disk;
    LocalClock clock;

    // This life. `boot` grows with every start of the process and is 0 while it is down.
    std::uint32_t boot = 0;
    std::uint32_t boots = 0;
    std::uint32_t wipes = 0;
    bool had_left = false;  // the life before left by its own word
    PeerId id;
    Generation generation;
    ClusterKey key_file{};             // of an encrypted cluster, as the operator last wrote it for this host
    membership::KeyRing keys;          // likewise, as this life found it
    std::unique_ptr<node::Node> node;  // null until its identity is on the disk
    std::unique_ptr<router::Dispatcher> dispatcher;
    std::vector<Replica> replicas;
    bool joined = false;
    node::Drain drain{{}};
    std::uint32_t entered = 0;        // requests of clients that came in here and have not ended
    std::uint32_t entered_early = 0;  // those of them that came before the drain
    WorldTime armed_for = world_never;

    // The processor: what arrives while it is stopped or busy waits in `inbox`.
    bool paused = false;
    WorldTime resumed_at{};
    Duration input_cost{0};  // of handling one input
    WorldTime busy_until{};
    std::deque<Event> inbox;
    std::size_t inbox_datagrams = 0;
    bool work_planned = false;

    bool is_up() const { return node != nullptr; }
    bool is_draining() const { return drain.begun(); }
    // It answers in time: a stopped or slow process cannot be told from a dead one.
    bool is_punctual() const { return is_up() && !paused && input_cost == Duration{0}; }
};

// Ports are the defaults of production; the address is 10.x.y.z with the host's number.
Endpoint endpoint_of(Host host, std::uint16_t port);
inline constexpr std::uint16_t gossip_port = 7946;
inline constexpr std::uint16_t link_port = 7947;
inline constexpr std::uint16_t http_port = 8000;
Host host_of(const Endpoint& endpoint);

}  // namespace exa::sim
