// Membership: SWIM with the Lifeguard refinements, as a core without sockets, clock or global chance.
//
// Sources: SWIM (Das, Gupta, Motivala 2002), Lifeguard (Dadgar, Phillips, Currey 2017); docs/architecture.md says what
// we add. In short: each probe_interval one peer is pinged; without an answer other peers are asked to ping it and the
// link is tried; then it is suspect, and dead unless it refutes in time. Updates ride on every packet and on packets of
// their own. Now and then two peers compare all that they know over the link. A record spreads as what changed since
// the version before; a peer that cannot follow from the version that it holds, or hears of a record too big for a
// packet, pulls it over the link.
//
// This class composes the parts that decide, each with its own state and tests: Prober, ChannelWatch, SuspicionTable,
// LossHold, AntiEntropy, PullRequests, IdentityGuard, NameClaim, Bootstrap, MemberMemory, KeyExchange, RecordPacer,
// Outbox. It merges what others say, carries out what the parts return (see step.h), and does all that follows when a
// peer's liveness changes.
//
// Owner's duties, in this order. After every call of a handle_* or command function: poll_transmit() until it is empty
// (datagrams), poll_sync() until empty (reliable messages, in order, over a peer link that the owner opens), then
// poll_event() and poll_lookup() until empty; then arm one timer for next_timeout() and call handle_timeout() when it
// is due. Losing any of what is polled is allowed at any time; not draining it is answered by dropping the oldest.
// `now` never goes back. One thread owns a Membership; its views may be read by all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/crypto.h"
#include "base/endpoint.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/rng.h"
#include "base/time.h"
#include "membership/anti_entropy.h"
#include "membership/bootstrap.h"
#include "membership/channel_watch.h"
#include "membership/config.h"
#include "membership/event.h"
#include "membership/identity_guard.h"
#include "membership/intern_pool.h"
#include "membership/key_exchange.h"
#include "membership/load_table.h"
#include "membership/loss_hold.h"
#include "membership/member_memory.h"
#include "membership/name_claim.h"
#include "membership/outbox.h"
#include "membership/prober.h"
#include "membership/pull_requests.h"
#include "membership/record_pacer.h"
#include "membership/roster.h"
#include "membership/step.h"
#include "membership/suspicion_table.h"
#include "membership/timers.h"
#include "membership/updates.h"
#include "membership/view.h"
#include "wire/gossip.h"

namespace exa::membership {

struct Counters {
    std::uint64_t packets_in = 0;
    std::uint64_t packets_out = 0;
    std::uint64_t syncs_in = 0;
    std::uint64_t syncs_out = 0;
    std::uint64_t malformed = 0;      // not a message, or with a field outside its range
    std::uint64_t wrong_cluster = 0;  // of another cluster
    std::uint64_t wrong_version = 0;
    std::uint64_t misdirected = 0;  // meant for another peer that had this address
    std::uint64_t stale = 0;        // of an earlier instance
    std::uint64_t refused = 0;      // no room for another peer or for so big a record
    std::uint64_t dropped = 0;      // outputs that nobody fetched
    std::uint64_t refutations = 0;
    std::uint64_t probes = 0;
    std::uint64_t probes_failed = 0;
};

// Entries of what is bounded, as they are now.
struct Sizes {
    std::size_t peers = 0;
    std::size_t tombstones = 0;  // of these, dead and lost ones
    std::size_t updates = 0;
    std::size_t timers = 0;
    std::size_t indirect_probes = 0;
    std::size_t asked = 0;
    std::size_t pulls = 0;
    std::size_t challenges = 0;
};

class Membership {
  public:
    // `config` must be valid and `own` pass wire::check_record; its id is not 0, its generation newer than in any
    // instance before. `seed` must differ between instances, also between clones of a data directory. `pool`: where the
    // peers of this process share equal records and loads; null: nowhere.
    Membership(const Config& config, ClusterId cluster, const wire::PeerRecord& own, std::uint64_t seed, TimePoint now,
               const std::shared_ptr<InternPool>& pool = nullptr);

    // Getters.
    PeerId self() const { return roster_.self(); }
    const wire::PeerRecord& record() const { return *roster_.own().record; }
    Incarnation incarnation() const { return roster_.own().incarnation; }
    std::uint32_t instance() const { return roster_.own().instance; }
    const KeyRing& keys() const { return keys_.ring(); }
    bool is_joined() const { return bootstrap_.is_joined(); }
    std::vector<SeedStatus> seeds(TimePoint now) const { return bootstrap_.seeds(now, roster_); }
    // Members that this peer knew before it started, and of which it has heard nothing since.
    std::vector<RememberedMember> unmet() const { return memory_.unmet(roster_); }
    // After leave() or a refusal to serve.
    bool is_over() const { return stage_ != Stage::member; }
    // See Prober.
    std::uint32_t local_health() const { return prober_.local_health(); }
    const Roster& roster() const { return roster_; }
    Counters counters() const;
    Alarms alarms() const;
    Sizes sizes() const;
    // A new one when something changed since the last call, which costs O(peers + loads).
    std::shared_ptr<const View> view();

    // Inputs. An error says what was wrong with the bytes; nothing changed but a counter.
    Result<void> handle_packet(TimePoint now, const Endpoint& from, ByteView bytes);
    // `from` is the peer at the other end of the link, as the link's hello proved.
    Result<void> handle_sync(TimePoint now, PeerId from, ByteView bytes);
    // A link to this instance of `peer` broke, or could not be opened: a suspicion of our own, until the peer refutes.
    // A broken link to an earlier instance says nothing about this one. 0: whichever instance is known.
    void handle_link_broken(TimePoint now, PeerId peer, Generation generation);
    // A message left over a link to `peer`.
    void handle_link_works(TimePoint now, PeerId peer);
    void handle_timeout(TimePoint now);

    // Commands.
    // Asks those who may be members; adds to what earlier calls gave (membership/bootstrap.h). With nobody to ask we
    // are the first peer of the cluster. All are asked at once, also by one that has joined before, which then goes on
    // with one at a time (Config::redial_interval).
    void join(TimePoint now, JoinRequest request);
    // What a name of poll_lookup() resolved to; nothing: it did not.
    void handle_lookup(TimePoint now, std::string_view name, std::vector<Endpoint> found);
    // Spreads that we leave; left_cluster follows. Until then packets are still to be handled.
    Result<void> leave(TimePoint now);
    // In an encrypted cluster, before anything else: the ring that this instance starts with. `crypto` outlives this
    // object.
    void start_keys(const Crypto& crypto, KeyRing ring) { keys_.start(crypto, std::move(ring)); }
    // Our ring after an operator's change: others are told of it.
    void set_keys(TimePoint now, KeyRing ring) { carry_out(now, keys_.set(step(now), std::move(ring))); }
    // Our record; its version is counted here. Unchanged content is no new version.
    Result<void> set_record(TimePoint now, wire::PeerRecord record);
    // The dead that are held become lost in their time, however many they are: an operator said that it is no
    // partition.
    void confirm_dead() { losses_.confirm(); }
    // Loads of all our replicas as they are now.
    void set_loads(TimePoint now, std::span<const wire::LoadReport> reports);

    // Outputs.
    std::optional<Transmit> poll_transmit() { return outbox_.poll_transmit(); }
    std::optional<SyncTransmit> poll_sync() { return outbox_.poll_sync(); }
    std::optional<Event> poll_event() { return outbox_.poll_event(); }
    // "host:port" of a seed whose name is to be looked up; handle_lookup() is expected for each.
    std::optional<std::string> poll_lookup() { return bootstrap_.poll_lookup(); }
    // The file of the members to remember (membership/member_memory.h), when it is to be stored again.
    std::optional<std::string> take_members_file(TimePoint now) { return memory_.take_file(now, config_, roster_); }
    TimePoint next_timeout() const { return timers_.next(); }

  private:
    enum class Stage : std::uint8_t { member, leaving, over };

    // A message whose contents are merged.
    struct Source {
        TimePoint now;
        PeerId from;
        bool compared = false;         // it came over the link: part of a comparison
        std::vector<PeerId> outdated;  // peers that it accused of what they have refuted
    };

    // Inputs by kind: membership.cc.
    void handle_own_packet(TimePoint now, const Endpoint& from, const wire::Header& header);
    void handle_ping(TimePoint now, const Endpoint& from, const wire::Packet& packet);
    void handle_content(TimePoint now, const Endpoint& from, const wire::Packet& packet);
    void handle_content(TimePoint now, const wire::Sync& sync);
    void handle_peer_timeout(TimePoint now, TimerKey key, const Peer& peer);
    void handle_own_timeout(TimePoint now, TimerKey key);
    void notice_lateness(TimePoint now);
    std::uint32_t roster_hash() const;
    bool is_live(PeerId id) const;

    // Merging what others say: membership_merge.cc.
    // False when the sender is an earlier instance or in doubt: what it says is then ignored.
    bool accept_sender(TimePoint now, const wire::Header& header);
    void answer_earlier_instance(TimePoint now, const Endpoint& at, PeerId sender);
    template <class Message>
    void merge(Source& source, const Message& message);
    void merge_record(const Source& source, const wire::RecordDelta& delta, wire::MemberState state);
    void merge_new_instance(const Source& source, const wire::RecordDelta& delta, wire::MemberState state);
    void merge_fact(Source& source, const wire::Fact& fact);
    void merge_accusation(const Source& source, const wire::Fact& fact);
    void merge_own_fact(const Source& source, const wire::Fact& fact);
    void merge_loads(const Source& source, const wire::LoadGroup& group);
    void merge_version(const Source& source, const wire::Header& header);
    void correct(const Source& source, const Endpoint& at);
    void compare_digest(TimePoint now, const wire::Sync& sync);
    void pull(const Source& source, PeerId peer);
    void start_sync(TimePoint now, PeerId with, bool want_loads);
    // True when it is our own packet that came back.
    // `teller`: who says that this instance of us is alive, 0: itself, or nobody that can be asked.
    bool check_own(TimePoint now, PeerId teller, Generation generation, std::uint32_t instance);
    void check_instance(TimePoint now, PeerId id, Generation generation, std::uint32_t instance);
    void check_name(TimePoint now, PeerId id);
    // Takes our name, once we have joined and no live peer bears it.
    void claim_name(TimePoint now);
    void ask_for_name(TimePoint now);
    void refuse_name(PeerId holder);
    std::uint16_t name_support() const;
    void tell_name_support(TimePoint now);

    // A peer's liveness changes, with all that follows: membership_transitions.cc.
    // We have evidence of our own that it does not answer: a suspicion, or one accuser more of the suspicion under way.
    void accuse(TimePoint now, PeerId id);
    void suspect(TimePoint now, PeerId id, Incarnation incarnation, PeerId accuser);
    // Another accuser: the suspicion runs out sooner (Lifeguard; memberlist calls it Confirm, too).
    void confirm(TimePoint now, PeerId id, PeerId accuser);
    void probe_soon(TimePoint now, PeerId suspect);
    // The verdict about a live peer; in a rack with many suspects it waits for the verdicts about the others.
    void judge_dead(TimePoint now, PeerId id, Incarnation incarnation, PeerId accuser);
    void judge_rack(TimePoint now, const std::string& rack);
    void mark_deferred_dead(TimePoint now, const std::vector<PeerId>& peers);
    void mark_dead(TimePoint now, PeerId id, Incarnation incarnation, PeerId accuser);
    void mark_lost(TimePoint now, PeerId id);
    void mark_alive(TimePoint now, PeerId id, Incarnation incarnation);
    void mark_left(TimePoint now, PeerId id, Incarnation incarnation);
    void replace_instance(TimePoint now, const wire::Header& header);
    void end_instance(TimePoint now, PeerId id);
    void leave_view(TimePoint now, PeerId id);
    void forget(PeerId id);
    void bound_tombstones();
    void stop();

    // Sending: membership.cc.
    Step step(TimePoint now) { return {now, config_, roster_, rng_, numbers_, timers_}; }
    void carry_out(TimePoint now, Effects effects);
    wire::Header header() const;
    void send(TimePoint now, PacketOut out);
    void send(SyncOut out);
    void send_all(std::vector<SyncOut> out);
    void send_updates(TimePoint now, PeerId to, UpdateRequest request);
    void schedule_gossip(TimePoint now) { outbox_.schedule(step(now)); }
    void disseminate(TimePoint now, PeerId id);
    void announce_record(TimePoint now);
    void announce_loads(TimePoint now);
    LoadReportRule load_report_rule(const wire::PeerRecord& of) const;
    void emit(const Notice& notice);
    void count(const Error& error);

    const Config config_;
    const ClusterId cluster_;
    Rng rng_;
    Sequence numbers_;
    Roster roster_;
    LoadTable loads_;
    Timers timers_;
    Prober prober_;
    ChannelWatch channels_;
    SuspicionTable suspicions_;
    LossHold losses_;
    AntiEntropy anti_entropy_;
    PullRequests pulls_;
    IdentityGuard identity_;
    NameClaim name_;
    Bootstrap bootstrap_;
    MemberMemory memory_;
    KeyExchange keys_;
    RecordPacer pacer_;
    Outbox outbox_;
    Counters counters_;  // those that no part counts
    Stage stage_ = Stage::member;
    std::shared_ptr<const View> view_;
    bool view_stale_ = true;
    std::uint64_t view_number_ = 0;
};

}  // namespace exa::membership
