#include "node/node.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "node/errc.h"
#include "node/rotation.h"

namespace exa::node {

namespace {

// Events that nobody polls are forgotten, the oldest first.
constexpr std::size_t events_max = 65'536;

wire::PeerRecord with_keys(wire::PeerRecord record, const membership::KeyRing& ring) {
    record.keys.clear();
    for (const ClusterKey& key : ring.installed()) record.keys.push_back(key.id);
    record.primary_key = !ring.empty() ? ring.primary()->id : KeyId{};
    return record;
}

// What stands against a command; when it is insisted on, the warnings.
class Objections {
  public:
    explicit Objections(bool insist) : insist_(insist) {}

    Result<void> add(Result<void> checked) {
        if (checked) return checked;
        const auto code = checked.error().code;
        if (!insist_ || (code != errc::would_cut_off && code != errc::not_rejoined)) return checked;
        warnings_ += (warnings_.empty() ? "" : "; ") + checked.error().message();
        return success();
    }
    const std::string& warnings() const { return warnings_; }

  private:
    bool insist_;
    std::string warnings_;
};

}  // namespace

Node::Node(const Config& config, const wire::PeerRecord& self, std::uint64_t seed, TimePoint now)
    : membership_(config.membership, config.cluster, with_keys(self, config.keys), seed, now, config.states),
      seal_(!config.keys.empty() ? config.crypto : nullptr, config.cluster, self.id, self.generation,
            membership_.instance()),
      stored_(config.keys),
      rings_(config.rings),
      mutant_(config.membership.mutant) {
    if (config.keys.empty()) return;
    EXA_CHECK(config.crypto != nullptr);
    membership_.start_keys(*config.crypto, config.keys);
    seal_.set_keys(config.keys, stored_);
}

Result<void> Node::handle_packet(TimePoint now, const Endpoint& from, ByteView bytes) {
    const auto plain = seal_.open(now, from, bytes);
    while (const auto alarm = seal_.take_alarm())
        push({*alarm, membership_.self(), membership_.record().generation, {}, false});
    if (!plain) return plain.error();
    const auto taken = membership_.handle_packet(now, from, plain.value());
    take_events();
    return taken;
}

Result<void> Node::handle_sync(TimePoint now, PeerId from, ByteView bytes) {
    const auto taken = membership_.handle_sync(now, from, bytes);
    take_events();
    return taken;
}

void Node::handle_link_broken(TimePoint now, PeerId peer, Generation generation) {
    membership_.handle_link_broken(now, peer, generation);
    take_events();
}

void Node::handle_link_works(TimePoint now, PeerId peer) {
    membership_.handle_link_works(now, peer);
    take_events();
}

void Node::handle_timeout(TimePoint now) {
    membership_.handle_timeout(now);
    take_events();
}

void Node::join(TimePoint now, membership::JoinRequest request) {
    membership_.join(now, std::move(request));
    take_events();
}

void Node::handle_lookup(TimePoint now, std::string_view name, std::vector<Endpoint> found) {
    membership_.handle_lookup(now, name, std::move(found));
    take_events();
}

Result<std::string> Node::confirm_dead(bool insist) {
    Objections objections(insist);
    EXA_TRY(objections.add(check_rejoined(has_rejoined())));
    membership_.confirm_dead();
    return objections.warnings();
}

void Node::leave(TimePoint now) {
    // Leaving twice is leaving.
    if (!membership_.is_over()) EXA_CHECK(membership_.leave(now).has_value());
    take_events();
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

Result<std::string> Node::add_key(TimePoint now, const ClusterKey& key, bool insist) {
    membership::KeyRing ring = keys();
    Objections objections(insist);
    EXA_TRY(check_add(ring));
    EXA_TRY(objections.add(check_rejoined(has_rejoined())));
    ring.add(key);
    membership_.set_keys(now, std::move(ring));
    take_events();
    return objections.warnings();
}

Result<std::string> Node::use_key(TimePoint now, KeyId id, bool insist) {
    membership::KeyRing ring = keys();
    Objections objections(insist);
    EXA_TRY(objections.add(check_rejoined(has_rejoined())));
    EXA_TRY(objections.add(check_met(mutant_ == Mutant::alone_decides ? std::vector<membership::RememberedMember>{}
                                                                      : membership_.unmet())));
    EXA_TRY(objections.add(check_use(*members(), ring, id)));
    ring.use(id);
    membership_.set_keys(now, std::move(ring));
    take_events();
    return objections.warnings();
}

Result<std::string> Node::remove_key(TimePoint now, KeyId id, bool insist) {
    membership::KeyRing ring = keys();
    Objections objections(insist);
    EXA_TRY(objections.add(check_rejoined(has_rejoined())));
    EXA_TRY(objections.add(check_met(mutant_ == Mutant::alone_decides ? std::vector<membership::RememberedMember>{}
                                                                      : membership_.unmet())));
    EXA_TRY(objections.add(check_remove(*members(), ring, id)));
    ring.remove(id);
    membership_.set_keys(now, std::move(ring));
    take_events();
    return objections.warnings();
}

void Node::keys_stored(TimePoint now, const membership::KeyRing& ring) {
    stored_ = ring;
    seal_.set_keys(keys(), stored_);
    if (membership_.is_over()) return;
    EXA_CHECK(membership_.set_record(now, with_keys(membership_.record(), stored_)).has_value());
    take_events();
}

std::optional<membership::Transmit> Node::poll_transmit() {
    while (auto transmit = membership_.poll_transmit()) {
        auto sealed = seal_.seal(transmit->peer, std::move(transmit->bytes));
        if (!sealed) continue;
        transmit->bytes = std::move(*sealed);
        return transmit;
    }
    return std::nullopt;
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

void Node::take_events() {
    while (const auto event = membership_.poll_event()) {
        if (event->kind == membership::EventKind::keys_changed) seal_.set_keys(keys(), stored_);
        push(*event);
    }
}

void Node::push(const membership::Event& event) {
    if (events_.size() == events_max) events_.pop_front();
    events_.push_back(event);
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
