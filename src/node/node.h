// Node: every core of a peer composed into one deterministic object. Production (app/control) and the simulator drive
// this very object: packets, time and commands in; datagrams, link messages and events out.
//
// Order of use. After any handle_* or command: poll_transmit(), poll_sync(), poll_event() and poll_lookup() until each
// is empty, then members() and routing() for the views, then sleep until next_timeout() or the next input. Calls never
// block and never read a clock.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "membership/config.h"
#include "membership/event.h"
#include "membership/key_ring.h"
#include "membership/membership.h"
#include "membership/view.h"
#include "node/seal.h"
#include "router/routing_view.h"
#include "wire/records.h"

namespace exa::node {

struct Config {
    ClusterId cluster;
    membership::Config membership;
    // The key ring as it is stored. With any key in it the cluster is encrypted, as long as the node runs; then
    // `crypto` is needed, and outlives the node.
    membership::KeyRing keys{};
    const Crypto* crypto = nullptr;
    // Where the nodes of one process share their rings; null: this one keeps its own.
    std::shared_ptr<ring::RingPool> rings = nullptr;
    // Likewise their records and loads.
    std::shared_ptr<membership::InternPool> states = nullptr;
};

class Node {
  public:
    // `self` is this instance's first record; its version is the node's to count. A record that is `starting` becomes
    // `serving` when the cluster is joined: a newcomer claims its name only then. `seed` makes the node's choices.
    Node(const Config& config, const wire::PeerRecord& self, std::uint64_t seed, TimePoint now);

    // -- what arrives ------------------------------------------------------------------------------------------------

    // A datagram as it came. An error says why it was ignored; nothing changed then.
    Result<void> handle_packet(TimePoint now, const Endpoint& from, ByteView bytes);
    // A membership message over a link whose other end said it is `from`.
    Result<void> handle_sync(TimePoint now, PeerId from, ByteView bytes);
    // A link to this instance of `peer` broke (0: whichever is known): the peer is suspected, and probed at once.
    void handle_link_broken(TimePoint now, PeerId peer, Generation generation);
    // A message left over a link to `peer`.
    void handle_link_works(TimePoint now, PeerId peer);
    void handle_timeout(TimePoint now);

    // -- commands
    // ------------------------------------------------------------------------------------------------------

    // Whom to ask for the cluster, beside those of before; they are asked until one answers (membership/bootstrap.h).
    void join(TimePoint now, membership::JoinRequest request);
    // What a name of poll_lookup() resolved to; nothing: it did not.
    void handle_lookup(TimePoint now, std::string_view name, std::vector<Endpoint> found);
    // Tells the cluster; the event left_cluster follows.
    void leave(TimePoint now);
    // The dead that are held become lost in their time (membership/view.h, Alarms). errc::not_rejoined as below.
    Result<std::string> confirm_dead(bool insist);
    void set_peer_state(TimePoint now, wire::PeerState state);
    // Adds the replica or replaces the record of its id.
    void set_replica(TimePoint now, wire::ReplicaRecord replica);
    // Of all of this peer's replicas.
    void set_loads(TimePoint now, std::span<const wire::LoadReport> loads);

    // Changes of the key ring; the event keys_changed follows. A command that could cut peers off (node/rotation.h) is
    // errc::would_cut_off, or errc::not_rejoined, unless it is insisted on: then it is done, and the value is the
    // warning. Other values are empty. What is so already is no error.
    Result<std::string> add_key(TimePoint now, const ClusterKey& key, bool insist);
    Result<std::string> use_key(TimePoint now, KeyId id, bool insist);
    Result<std::string> remove_key(TimePoint now, KeyId id, bool insist);
    // `ring`, which was keys() when the event keys_changed came, is on the disk: others may now count on it.
    void keys_stored(TimePoint now, const membership::KeyRing& ring);

    // -- what is due -------------------------------------------------------------------------------------------------

    std::optional<membership::Transmit> poll_transmit();
    std::optional<membership::SyncTransmit> poll_sync();
    std::optional<membership::Event> poll_event();
    std::optional<std::string> poll_lookup() { return membership_.poll_lookup(); }
    // To be asked for once a second: the file of the members to remember, when it is to be stored again.
    std::optional<std::string> take_members_file(TimePoint now) { return membership_.take_members_file(now); }
    TimePoint next_timeout() const { return membership_.next_timeout(); }
    std::vector<membership::SeedStatus> seeds(TimePoint now) const { return membership_.seeds(now); }
    membership::Counters counters() const { return membership_.counters(); }
    const membership::KeyRing& keys() const { return membership_.keys(); }
    const membership::KeyRing& stored_keys() const { return stored_; }
    const Seal& seal() const { return seal_; }
    // For those who watch (the simulator's oracles) and must not pay for a view at every event.
    const membership::Membership& membership() const { return membership_; }

    // -- views: immutable, new ones when something changed
    // -------------------------------------------------------------

    std::shared_ptr<const membership::View> members();
    std::shared_ptr<const router::RoutingView> routing();

  private:
    bool has_rejoined() const { return membership_.is_joined() || mutant_ == Mutant::alone_decides; }
    void take_events();
    void push(const membership::Event& event);

    membership::Membership membership_;
    Seal seal_;
    membership::KeyRing stored_;
    std::shared_ptr<ring::RingPool> rings_;
    const Mutant mutant_;
    std::deque<membership::Event> events_;
    std::shared_ptr<const router::RoutingView> routing_;
    std::shared_ptr<const membership::View> routed_;  // what routing_ was built from
};

}  // namespace exa::node
