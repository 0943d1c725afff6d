// VirtualCluster: peers with one core each on a virtual clock and a virtual network, for unit and property tests.
//
// A core is a sans-IO object with handle_timeout(now) and next_timeout() (docs/decisions/0003-sans-io-cores.md). The
// cluster keeps what all such tests need: the clock, the cores' timers, who is up, who can reach whom, and what is on
// its way. What a core puts out is the test's own matter: take_outputs() polls it after every input. GossipCluster
// carries datagrams and link messages; NodeCluster fills it with node objects.
//
// One seed decides everything: the same seed and the same calls give the same run.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/rng.h"
#include "base/time.h"

namespace exa::test {

struct Network {
    double loss = 0;       // chance that a message is lost
    double duplicate = 0;  // chance that a datagram arrives twice
    Duration latency_min = std::chrono::microseconds{200};
    Duration latency_max = std::chrono::milliseconds{2};
    double late = 0;  // chance that a message takes up to late_max
    Duration late_max = std::chrono::seconds{1};
    Duration link_timeout = std::chrono::seconds{3};  // until a link gives up a silent peer
};

// What the cluster knows of a peer; a test derives its own from it.
template <class CoreType>
struct VirtualPeer {
    using Core = CoreType;

    bool is_up() const { return core != nullptr; }

    PeerId id;
    std::unique_ptr<Core> core;    // null: down
    std::uint64_t generation = 0;  // of the core: how often the peer has booted
    int side = 0;                  // peers on different sides cannot reach each other
    TimePoint deadline = time_never;
    std::uint64_t timer = 0;  // number of the only timer that counts
};

template <class Peer>
class VirtualCluster {
  public:
    using Core = typename Peer::Core;

    VirtualCluster(std::uint64_t seed, const Network& network) : rng_(seed), network_(network) {}
    virtual ~VirtualCluster() = default;
    VirtualCluster(const VirtualCluster&) = delete;  // what is on its way refers to it
    VirtualCluster& operator=(const VirtualCluster&) = delete;

    TimePoint now() const { return now_; }
    Rng& rng() { return rng_; }
    Network& network() { return network_; }
    std::size_t size() const { return peers_.size(); }
    std::deque<Peer>& peers() { return peers_; }  // adding peers leaves references valid
    const std::deque<Peer>& peers() const { return peers_; }
    Peer& peer(std::size_t i) { return peers_.at(i); }
    const Peer& peer(std::size_t i) const { return peers_.at(i); }
    Core& core(std::size_t i) { return *peers_.at(i).core; }
    bool is_up(std::size_t i) const { return peers_.at(i).is_up(); }
    void set_side(std::size_t i, int side) { peers_.at(i).side = side; }
    bool reaches(std::size_t a, std::size_t b) const { return peers_.at(a).side == peers_.at(b).side; }

    // The new peer is down.
    std::size_t add_peer(PeerId id) {
        peers_.emplace_back().id = id;
        return peers_.size() - 1;
    }

    // Starts a new instance, whose core is `make(peer)`.
    template <class Make>
    void boot(std::size_t i, Make make) {
        Peer& peer = peers_.at(i);
        ++peer.generation;
        peer.core = make(peer);
        drain(i);
    }
    // Silent: nobody is told.
    void crash(std::size_t i) {
        peers_.at(i).core.reset();
        disarm(peers_.at(i));
        crashed(i);
    }

    // An input to a core that is up, made by `run(core)`.
    template <class Command>
    void command(std::size_t i, Command run) {
        run(core(i));
        drain(i);
    }

    // Runs what is due within `duration`, and ends at its end.
    void run_for(Duration duration) {
        const TimePoint until = now_ + duration;
        while (!queue_.empty() && queue_.front().at <= until) {
            std::ranges::pop_heap(queue_, Later{});
            const Event event = std::move(queue_.back());
            queue_.pop_back();
            now_ = event.at;
            event.what();
        }
        now_ = until;
    }

    // Runs until `is_reached()` holds, which is asked every `step`; returns how long it took, or `most` when it did not
    // happen by then.
    template <class Goal>
    Duration run_until(Goal is_reached, Duration most, Duration step = std::chrono::milliseconds{250}) {
        const TimePoint start = now_;
        while (now_ - start < most) {
            if (is_reached()) return now_ - start;
            run_for(step);
        }
        return most;
    }

  protected:
    // Polls what the core of `i`, which is up, puts out.
    virtual void take_outputs(std::size_t i) = 0;
    virtual void crashed(std::size_t) {}

    bool happens(double chance) { return chance > 0 && rng_.unit() < chance; }

    // Of one message.
    Duration latency() {
        const Duration longest = happens(network_.late) ? network_.late_max : network_.latency_max;
        const auto spread = static_cast<std::uint64_t>((longest - network_.latency_min).count());
        return network_.latency_min + Duration{static_cast<Duration::rep>(rng_.below(spread + 1))};
    }

    void at(TimePoint when, std::function<void()> what) {
        queue_.push_back({when, next_order_++, std::move(what)});
        std::ranges::push_heap(queue_, Later{});
    }

    // An input to `i` after the latency of one message, made by `run(peer)`; none when this instance is over by then.
    template <class Input>
    void later(std::size_t i, Input run) {
        at(now_ + latency(), [this, i, generation = peers_.at(i).generation, run = std::move(run)] {
            Peer& peer = peers_.at(i);
            if (!peer.is_up() || peer.generation != generation) return;
            run(peer);
            drain(i);
        });
    }

    // Polls the outputs of `i` and sets its timer.
    void drain(std::size_t i) {
        take_outputs(i);
        Peer& peer = peers_.at(i);
        const TimePoint deadline = peer.core->next_timeout();
        if (deadline == peer.deadline) return;
        disarm(peer);
        peer.deadline = deadline;
        if (deadline == time_never) return;
        at(std::max(deadline, now_), [this, i, timer = peer.timer] {
            Peer& peer = peers_.at(i);
            if (timer != peer.timer) return;
            disarm(peer);
            peer.core->handle_timeout(now_);
            drain(i);
        });
    }

  private:
    struct Event {
        TimePoint at;
        std::uint64_t order = 0;
        std::function<void()> what;
    };
    struct Later {
        bool operator()(const Event& a, const Event& b) const {
            return std::pair(a.at, a.order) > std::pair(b.at, b.order);
        }
    };

    static void disarm(Peer& peer) {
        ++peer.timer;
        peer.deadline = time_never;
    }

    Rng rng_;
    Network network_;
    TimePoint now_{std::chrono::seconds{1000}};
    std::deque<Peer> peers_;
    std::vector<Event> queue_;  // a heap, the next one first
    std::uint64_t next_order_ = 0;
};

}  // namespace exa::test
