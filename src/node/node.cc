#include "node/node.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace exa::node {

namespace {

// Events that nobody polls are forgotten, the oldest first.
constexpr std::size_t events_max = 65'536;

}  // namespace

Node::Node(const Config& config, wire::PeerRecord self, std::uint64_t seed, TimePoint now)
    : membership_(config.membership, config.cluster, self, seed, now), rings_(config.rings) {}

Result<void> Node::handle_packet(TimePoint now, const Endpoint& from, ByteView bytes) {
    const auto taken = membership_.handle_packet(now, from, bytes);
    take_events(now);
    return taken;
}

Result<void> Node::handle_sync(TimePoint now, PeerId from, ByteView bytes) {
    const auto taken = membership_.handle_sync(now, from, bytes);
    take_events(now);
    return taken;
}

void Node::handle_link_broken(TimePoint now, PeerId peer) {
    membership_.handle_link_broken(now, peer);
    take_events(now);
}

void Node::handle_timeout(TimePoint now) {
    membership_.handle_timeout(now);
    take_events(now);
}

void Node::join(TimePoint now, std::vector<Endpoint> seeds) {
    membership_.join(now, std::move(seeds));
    take_events(now);
}

void Node::leave(TimePoint now) {
    // Leaving twice is leaving.
    if (!membership_.is_over()) EXA_CHECK(membership_.leave(now).has_value());
    take_events(now);
}

void Node::set_peer_state(TimePoint now, wire::PeerState state) {
    if (membership_.is_over()) return;
    wire::PeerRecord record = membership_.record();
    record.state = state;
    EXA_CHECK(membership_.set_record(now, std::move(record)).has_value());
}

void Node::set_replica(TimePoint now, wire::ReplicaRecord replica) {
    if (membership_.is_over()) return;
    wire::PeerRecord record = membership_.record();
    const auto at = std::ranges::lower_bound(record.replicas, replica.id, {}, &wire::ReplicaRecord::id);
    if (at != record.replicas.end() && at->id == replica.id)
        *at = std::move(replica);
    else
        record.replicas.insert(at, std::move(replica));
    EXA_CHECK(membership_.set_record(now, std::move(record)).has_value());
}

void Node::set_loads(TimePoint now, std::span<const wire::LoadReport> loads) {
    membership_.set_loads(now, loads);
}

std::optional<membership::Transmit> Node::poll_transmit() {
    return membership_.poll_transmit();
}

std::optional<membership::SyncTransmit> Node::poll_sync() {
    return membership_.poll_sync();
}

std::optional<membership::Event> Node::poll_event() {
    if (events_.empty()) return std::nullopt;
    const membership::Event event = events_.front();
    events_.pop_front();
    return event;
}

void Node::take_events(TimePoint now) {
    while (const auto event = membership_.poll_event()) {
        if (event->kind == membership::EventKind::joined_cluster &&
            membership_.record().state == wire::PeerState::starting)
            set_peer_state(now, wire::PeerState::serving);
        if (events_.size() == events_max) events_.pop_front();
        events_.push_back(*event);
    }
}

std::shared_ptr<const membership::View> Node::members() {
    return membership_.view();
}

std::shared_ptr<const router::RoutingView> Node::routing() {
    std::shared_ptr<const membership::View> view = membership_.view();
    if (view != routed_) {
        routing_ = router::RoutingView::build(view, routing_.get(), rings_.get());
        routed_ = std::move(view);
    }
    return routing_;
}

}  // namespace exa::node
