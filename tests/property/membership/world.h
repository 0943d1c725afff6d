// World: many cores on a virtual clock and a virtual network, for property tests.
//
// One seed decides everything: the same seed and the same calls give the same history(), a hash over all that was
// delivered and told. Datagrams are lost, doubled, delayed and so reordered. A link message arrives once and in order,
// later when the network is bad; to a host that is down or cut off its sender hears handle_link_broken() instead.
//
// Core is a sans-IO core (docs/decisions/0003-sans-io-cores.md): handle_packet, handle_sync, handle_link_broken,
// handle_timeout, poll_transmit, poll_sync, poll_event, next_timeout, with the types of membership/membership.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <set>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/endpoint.h"
#include "base/hash.h"
#include "base/ids.h"
#include "base/rng.h"
#include "base/time.h"

namespace exa::world {

struct Network {
    double loss = 0;       // of datagrams
    double duplicate = 0;  // of datagrams
    Duration latency_min = std::chrono::microseconds{200};
    Duration latency_max = std::chrono::milliseconds{2};
    Duration link_timeout = std::chrono::seconds{3};  // until a link stubs a silent host
};

template <class Core, class Event>
class World {
  public:
    struct Happening {
        TimePoint at;
        std::size_t host = 0;
        Event event;
    };
    struct Host {
        std::unique_ptr<Core> core;  // null: down
        PeerId id;
        Endpoint endpoint;
        int side = 0;  // hosts of different sides cannot reach each other
        std::uint64_t generation = 0;
        std::uint64_t timer = 0;  // number of the only timer that counts
    };

    World(std::uint64_t seed, Network network) : rng_(seed), network_(network) {}

    TimePoint now() const { return now_; }
    Rng& rng() { return rng_; }
    Network& network() { return network_; }
    std::size_t size() const { return hosts_.size(); }
    const Host& host(std::size_t i) const { return hosts_[i]; }
    Core& core(std::size_t i) { return *hosts_[i].core; }
    bool is_up(std::size_t i) const { return hosts_[i].core != nullptr; }
    const std::vector<Happening>& happenings() const { return happenings_; }
    std::uint64_t history() const { return history_; }
    std::uint64_t datagrams() const { return datagrams_; }
    std::uint64_t datagram_bytes() const { return datagram_bytes_; }

    std::size_t add_host() {
        Host host;
        host.id = PeerId{rng_.next() | 1};
        const std::size_t i = hosts_.size();
        host.endpoint.address = {0,
                                 0,
                                 0,
                                 0,
                                 0,
                                 0,
                                 0,
                                 0,
                                 0,
                                 0,
                                 0xff,
                                 0xff,
                                 10,
                                 0,
                                 static_cast<std::uint8_t>(i >> 8),
                                 static_cast<std::uint8_t>(i)};
        host.endpoint.port = 7946;
        by_endpoint_[host.endpoint] = i;
        by_id_[host.id] = i;
        hosts_.push_back(std::move(host));
        return i;
    }
    // Another host under the id of the first: a cloned data directory. Links to that id go to the first.
    void clone_id(std::size_t of, std::size_t to) { hosts_[to].id = hosts_[of].id; }

    // `make(host, now)` builds the core of a new instance.
    void boot(std::size_t i, const std::function<std::unique_ptr<Core>(const Host&, TimePoint)>& make) {
        ++hosts_[i].generation;
        hosts_[i].core = make(hosts_[i], now_);
        drain(i);
    }
    // Silent: nobody is told.
    void crash(std::size_t i) {
        hosts_[i].core.reset();
        ++hosts_[i].timer;
        for (auto at = links_.begin(); at != links_.end();)
            at = at->first.first == i || at->first.second == i ? links_.erase(at) : std::next(at);
    }
    // The process alone dies: whoever has a link to it hears of it at once.
    void kill(std::size_t i) {
        std::set<std::size_t> linked;
        for (const auto& [ends, time] : links_) {
            if (ends.first == i) linked.insert(ends.second);
            if (ends.second == i) linked.insert(ends.first);
        }
        crash(i);
        for (const std::size_t other : linked)
            if (reaches(i, other)) push(now_ + latency(), Kind::broken, other, i, {});
    }
    void set_side(std::size_t i, int side) { hosts_[i].side = side; }

    // Calls a command of a live core and carries out what follows.
    template <class Command>
    void command(std::size_t i, Command run) {
        run(*hosts_[i].core);
        drain(i);
    }

    void run_for(Duration duration) {
        const TimePoint until = now_ + duration;
        while (!queue_.empty() && queue_.top().at <= until) {
            Action action = std::move(const_cast<Action&>(queue_.top()));
            queue_.pop();
            now_ = action.at;
            carry_out(action);
        }
        now_ = until;
    }

  private:
    enum class Kind : std::uint8_t { datagram, link, broken, timer };
    struct Action {
        TimePoint at;
        std::uint64_t order = 0;
        Kind kind = Kind::timer;
        std::size_t to = 0;
        std::size_t from = 0;
        std::uint64_t timer = 0;
        Bytes bytes;
        bool operator<(const Action& other) const { return std::pair(at, order) > std::pair(other.at, other.order); }
    };

    void push(TimePoint at, Kind kind, std::size_t to, std::size_t from, Bytes bytes, std::uint64_t timer = 0) {
        queue_.push({at, next_order_++, kind, to, from, timer, std::move(bytes)});
    }
    Duration latency() {
        const auto spread = static_cast<std::uint64_t>((network_.latency_max - network_.latency_min).count());
        return network_.latency_min + Duration{static_cast<Duration::rep>(rng_.below(spread + 1))};
    }
    bool reaches(std::size_t a, std::size_t b) const { return hosts_[a].side == hosts_[b].side; }
    void remember(std::uint64_t what, ByteView bytes) {
        history_ = hash64(bytes, history_ ^ hash64(what, static_cast<std::uint64_t>(now_.time_since_epoch().count())));
    }

    void carry_out(Action& action) {
        Host& host = hosts_[action.to];
        if (!host.core) {
            // A link that was on its way to a host that went down.
            if (action.kind == Kind::link) push(now_ + network_.link_timeout, Kind::broken, action.from, action.to, {});
            return;
        }
        if (action.kind == Kind::timer) {
            if (action.timer != host.timer) return;
            host.core->handle_timeout(now_);
        } else {
            remember(action.to << 2 | static_cast<std::uint64_t>(action.kind), action.bytes);
            if (action.kind == Kind::datagram)
                (void)host.core->handle_packet(now_, hosts_[action.from].endpoint, action.bytes);
            else if (action.kind == Kind::link)
                (void)host.core->handle_sync(now_, hosts_[action.from].id, action.bytes);
            else
                host.core->handle_link_broken(now_, hosts_[action.from].id, Generation{});
        }
        drain(action.to);
    }

    void drain(std::size_t i) {
        Host& host = hosts_[i];
        while (auto transmit = host.core->poll_transmit()) send_datagram(i, transmit->to, std::move(transmit->bytes));
        while (auto sync = host.core->poll_sync()) send_link(i, sync->to, std::move(sync->bytes));
        while (auto event = host.core->poll_event()) happenings_.push_back({now_, i, *event});
        const TimePoint next = host.core->next_timeout();
        ++host.timer;
        if (next != time_never) push(std::max(next, now_), Kind::timer, i, i, {}, host.timer);
    }

    void send_datagram(std::size_t from, const Endpoint& to, Bytes bytes) {
        ++datagrams_;
        datagram_bytes_ += bytes.size();
        const auto at = by_endpoint_.find(to);
        if (at == by_endpoint_.end() || !reaches(from, at->second)) return;
        const int copies = rng_.unit() < network_.duplicate ? 2 : 1;
        for (int copy = 0; copy < copies; ++copy)
            if (rng_.unit() >= network_.loss) push(now_ + latency(), Kind::datagram, at->second, from, bytes);
    }

    void send_link(std::size_t from, PeerId to, Bytes bytes) {
        const auto at = by_id_.find(to);
        if (at == by_id_.end()) return;
        const std::size_t other = at->second;
        if (!hosts_[other].core || !reaches(from, other)) {
            push(now_ + network_.link_timeout, Kind::broken, from, other, {});
            return;
        }
        // A lost segment costs a retransmission, and everything behind it waits.
        Duration delay = latency();
        while (rng_.unit() < network_.loss) delay += std::chrono::milliseconds{200};
        TimePoint& last = links_[{from, other}];
        last = std::max(last, now_ + delay);
        push(last, Kind::link, other, from, std::move(bytes));
    }

    Rng rng_;
    Network network_;
    TimePoint now_{std::chrono::seconds{1000}};
    std::vector<Host> hosts_;
    std::map<Endpoint, std::size_t> by_endpoint_;
    std::map<PeerId, std::size_t> by_id_;
    std::map<std::pair<std::size_t, std::size_t>, TimePoint> links_;  // last delivery
    std::priority_queue<Action> queue_;
    std::uint64_t next_order_ = 0;
    std::vector<Happening> happenings_;
    std::uint64_t history_ = 0;
    std::uint64_t datagrams_ = 0;
    std::uint64_t datagram_bytes_ = 0;
};

}  // namespace exa::world
