// GossipCluster: a VirtualCluster whose peers speak to each other by datagrams and link messages.
//
// Datagrams are lost, doubled, delayed and so reordered. A link message arrives once and in order, later when the
// network is bad; when its receiver is down or cut off, the sender hears handle_link_broken() instead.
//
// Core has handle_packet, handle_sync, handle_link_broken, handle_timeout, poll_transmit, poll_sync, poll_event and
// next_timeout, with the types of membership/membership.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/endpoint.h"
#include "base/hash.h"
#include "base/ids.h"
#include "membership/membership.h"
#include "virtual_cluster.h"

namespace exa::test {

template <class Core>
struct GossipPeer : VirtualPeer<Core> {
    Endpoint endpoint;
};

template <class Core>
class GossipCluster : public VirtualCluster<GossipPeer<Core>> {
    using Base = VirtualCluster<GossipPeer<Core>>;

  public:
    using Peer = GossipPeer<Core>;
    struct Happening {
        TimePoint at;
        std::size_t peer = 0;
        membership::Event event;
    };

    using Base::Base;
    using Base::now, Base::network, Base::peer, Base::reaches;

    const std::vector<Happening>& happenings() const { return happenings_; }
    // A hash over all that was delivered.
    std::uint64_t history() const { return history_; }
    // Deliveries to which a core returned an error.
    std::uint64_t refused() const { return refused_; }
    std::uint64_t datagrams() const { return datagrams_; }
    std::uint64_t datagram_bytes() const { return datagram_bytes_; }

    // A peer with a random id at an address of its own.
    std::size_t add_peer() {
        const std::size_t i = Base::add_peer(PeerId{this->rng().next() | 1});
        Endpoint& endpoint = peer(i).endpoint;
        endpoint.address = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 0};
        endpoint.address[14] = static_cast<std::uint8_t>(i >> 8);
        endpoint.address[15] = static_cast<std::uint8_t>(i);
        endpoint.port = 7946;
        by_endpoint_[endpoint] = i;
        by_id_[peer(i).id] = i;
        return i;
    }
    // `to` gets the id of `of`: a cloned data directory. Links to that id go to `of`.
    void clone_id(std::size_t of, std::size_t to) { peer(to).id = peer(of).id; }

    // The process alone dies: whoever has a link to it hears of it at once.
    void kill(std::size_t i) {
        std::set<std::size_t> linked;
        for (const auto& [ends, time] : links_) {
            if (ends.first == i) linked.insert(ends.second);
            if (ends.second == i) linked.insert(ends.first);
        }
        this->crash(i);
        for (const std::size_t other : linked)
            if (reaches(i, other)) break_link(other, i, this->latency());
    }

  private:
    enum class Kind : std::uint8_t { datagram, link, broken };

    void take_outputs(std::size_t i) override {
        Core& core = this->core(i);
        while (auto transmit = core.poll_transmit()) send_datagram(i, transmit->to, std::move(transmit->bytes));
        while (auto sync = core.poll_sync()) send_link(i, sync->to, std::move(sync->bytes));
        while (auto event = core.poll_event()) happenings_.push_back({now(), i, *event});
    }

    void crashed(std::size_t i) override {
        std::erase_if(links_, [i](const auto& link) { return link.first.first == i || link.first.second == i; });
    }

    void send_datagram(std::size_t from, const Endpoint& endpoint, Bytes bytes) {
        ++datagrams_;
        datagram_bytes_ += bytes.size();
        const auto to = by_endpoint_.find(endpoint);
        if (to == by_endpoint_.end() || !reaches(from, to->second)) return;
        for (int copies = this->happens(network().duplicate) ? 2 : 1; copies > 0; --copies) {
            if (this->happens(network().loss)) continue;
            this->at(now() + this->latency(), [this, from, to = to->second, bytes] {
                if (!this->is_up(to)) return;
                remember(Kind::datagram, to, bytes);
                refused_ += this->core(to).handle_packet(now(), peer(from).endpoint, bytes).has_error();
                this->drain(to);
            });
        }
    }

    void send_link(std::size_t from, PeerId id, Bytes bytes) {
        const auto known = by_id_.find(id);
        if (known == by_id_.end()) return;
        const std::size_t to = known->second;
        if (!this->is_up(to) || !reaches(from, to)) return break_link(from, to, network().link_timeout);
        // A lost segment costs a retransmission, and everything behind it waits.
        Duration delay = this->latency();
        while (this->happens(network().loss)) delay += std::chrono::milliseconds{200};
        TimePoint& last = links_[{from, to}];
        last = std::max(last, now() + delay);
        this->at(last, [this, from, to, bytes = std::move(bytes)] {
            if (!this->is_up(to)) return break_link(from, to, network().link_timeout);
            remember(Kind::link, to, bytes);
            refused_ += this->core(to).handle_sync(now(), peer(from).id, bytes).has_error();
            this->drain(to);
        });
    }

    // `at` hears that its link to `other` broke.
    void break_link(std::size_t at, std::size_t other, Duration delay) {
        this->at(now() + delay, [this, at, other] {
            if (!this->is_up(at)) return;
            remember(Kind::broken, at, {});
            this->core(at).handle_link_broken(now(), peer(other).id, Generation{});
            this->drain(at);
        });
    }

    void remember(Kind kind, std::size_t to, ByteView bytes) {
        const std::uint64_t what = to << 2 | static_cast<std::uint64_t>(kind);
        history_ = hash64(bytes, history_ ^ hash64(what, static_cast<std::uint64_t>(now().time_since_epoch().count())));
    }

    std::map<Endpoint, std::size_t> by_endpoint_;
    std::map<PeerId, std::size_t> by_id_;
    std::map<std::pair<std::size_t, std::size_t>, TimePoint> links_;  // last delivery
    std::vector<Happening> happenings_;
    std::uint64_t history_ = 0;
    std::uint64_t refused_ = 0;
    std::uint64_t datagrams_ = 0;
    std::uint64_t datagram_bytes_ = 0;
};

}  // namespace exa::test
