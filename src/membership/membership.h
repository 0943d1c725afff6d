// Membership: SWIM with the Lifeguard refinements, as a core without sockets, clock or global chance.
//
// Sources: SWIM (Das, Gupta, Motivala 2002), Lifeguard (Dadgar, Phillips, Currey 2017); DESIGN section 4 says what we
// add. In short: each probe_interval one peer is pinged; without an answer others are asked to ping it and the link is
// tried; then it is suspect, and dead unless it refutes in time. News rides on every packet and on packets of its own.
// Peers compare everything they know over the link now and then. A record spreads as what changed since the version
// before; who cannot follow from the one it holds, or hears of one too big for a packet, asks the teller over the link.
//
// Owner's duties, in this order. After every call of a handle_* or command function: poll_transmit() until it is empty
// (datagrams), poll_sync() until empty (reliable messages, in order, over a peer link that the owner opens), then
// poll_event() until empty; then arm one timer for next_timeout() and call handle_timeout() when it is due. Losing any
// of what is polled is allowed at any time; not draining it is answered by dropping the oldest. `now` never goes back.
// One thread owns a Membership; its views may be read by all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/crypto.h"
#include "base/endpoint.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/rng.h"
#include "base/time.h"
#include "membership/config.h"
#include "membership/event.h"
#include "membership/gossip_queue.h"
#include "membership/intern_pool.h"
#include "membership/key_ring.h"
#include "membership/load_table.h"
#include "membership/loss_hold.h"
#include "membership/prober.h"
#include "membership/roster.h"
#include "membership/step.h"
#include "membership/suspicion_table.h"
#include "membership/timers.h"
#include "membership/view.h"
#include "wire/gossip.h"

namespace exa::membership {

struct Transmit {
    Endpoint to;
    Bytes bytes;
    PeerId peer;  // who is meant; 0: whoever is there
};

struct SyncTransmit {
    PeerId to;
    // Where its links are accepted; unspecified while its record is unknown: then only an open link can be used.
    Endpoint link;
    Bytes bytes;
    // Of the instance that it is meant for: what handle_link_broken() needs to know when no link can be opened.
    Generation generation;
};

struct Counters {
    std::uint64_t packets_in = 0;
    std::uint64_t packets_out = 0;
    std::uint64_t syncs_in = 0;
    std::uint64_t syncs_out = 0;
    std::uint64_t malformed = 0;      // not a message, or with a field outside its range
    std::uint64_t wrong_cluster = 0;  // of another cluster
    std::uint64_t wrong_version = 0;
    std::uint64_t misdirected = 0;  // meant for another peer that had this address
    std::uint64_t stale = 0;        // of an instance that is over
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
    std::size_t doubts = 0;
};

class Membership {
  public:
    // `config` must be valid and `own` pass wire::check_record; its id is not 0, its generation newer than in any
    // instance before. `seed` must differ between lives, also between clones of a data directory. `pool`: where this
    // process's peers share what they hold alike; null: nowhere.
    Membership(const Config& config, ClusterId cluster, const wire::PeerRecord& own, std::uint64_t seed, TimePoint now,
               const std::shared_ptr<InternPool>& pool = nullptr);

    // Getters.
    PeerId self() const { return roster_.self(); }
    const wire::PeerRecord& record() const { return *roster_.own().record; }
    Incarnation incarnation() const { return roster_.own().incarnation; }
    std::uint32_t instance() const { return instance_; }
    const KeyRing& keys() const { return keys_; }
    bool is_joined() const { return joined_; }
    // After leave() or a refusal to serve.
    bool is_over() const { return stage_ != Stage::member; }
    // See Prober.
    std::uint32_t local_health() const { return prober_.local_health(); }
    const Roster& roster() const { return roster_; }
    Counters counters() const;
    Alarms alarms() const { return {losses_.is_held(), prober_.is_udp_blocked()}; }
    Sizes sizes() const {
        return {roster_.size(),      roster_.dead().size(), queue_.size(), timers_.size(), prober_.indirect_probes(),
                asked_until_.size(), wants_.size(),         doubts_.size()};
    }
    // Built anew when something changed since the last call. Costs O(peers + loads) then.
    std::shared_ptr<const View> view();

    // Inputs. An error says what was wrong with the bytes; nothing changed but a counter.
    Result<void> handle_packet(TimePoint now, const Endpoint& from, ByteView bytes);
    // `from` is the peer at the other end of the link, as the link's hello proved.
    Result<void> handle_sync(TimePoint now, PeerId from, ByteView bytes);
    // A link to this instance of `peer` broke, or could not be opened: a suspicion of our own, until the peer refutes.
    // What befell the link to a earlier instance says nothing of this one. 0: whichever instance is known.
    void handle_link_broken(TimePoint now, PeerId peer, Generation generation);
    void handle_timeout(TimePoint now);

    // Commands.
    // Gossip addresses of some members; our own may be among them. Replaces the seeds of an earlier call. With no seed
    // but ourselves we are the first peer of the cluster. All are asked at once, also by one that has joined before,
    // which then goes on with one at a time (Config::redial_interval).
    void join(TimePoint now, std::vector<Endpoint> seeds);
    // Spreads that we leave; left_cluster follows. Until then packets are still to be handled.
    Result<void> leave(TimePoint now);
    // In a sealed cluster, before anything else: the ring that this instance starts with. `crypto` outlives this
    // object.
    void start_keys(const Crypto& crypto, KeyRing ring);
    // Our ring after an operator's change: told to others.
    void set_keys(KeyRing ring);
    // Our record; its version is counted here. Unchanged content is no new version.
    Result<void> set_record(TimePoint now, wire::PeerRecord record);
    // The dead that are held become lost in their time, however many they are: an operator said that it is no
    // partition.
    void confirm_dead() { losses_.confirm(); }
    // Loads of all our replicas as they are now.
    void set_loads(TimePoint now, std::span<const wire::LoadReport> reports);

    // Outputs.
    std::optional<Transmit> poll_transmit();
    std::optional<SyncTransmit> poll_sync();
    std::optional<Event> poll_event();
    TimePoint next_timeout() const { return timers_.next(); }

  private:
    enum class Stage : std::uint8_t { member, leaving, over };

    // Of an instance that has the generation of another one.
    struct Doubt {
        std::uint32_t instance = 0;
        std::uint64_t seq = 0;  // of the question to the address that we know; 0: none yet
        TimePoint asked_until{};
    };

    // Probing: membership_probe.cc.
    void notice_lateness(TimePoint now);
    std::uint32_t roster_digest() const;
    void compare_rosters(TimePoint now, PeerId with, std::uint32_t theirs);
    void handle_ping(TimePoint now, const Endpoint& from, const wire::Packet& packet);
    void introduce(TimePoint now, const Endpoint& stranger);
    void dial_seeds(TimePoint now);
    void redial(TimePoint now);
    void probe_soon(TimePoint now, PeerId suspect);

    // Which instance of a peer is meant: membership_lives.cc.
    // False when the sender's instance is over or doubtful: what it says is then ignored.
    bool meet(TimePoint now, const wire::Header& header);
    bool meet_self(const wire::Header& header);
    Doubt& conflict(PeerId id, Generation generation, std::uint32_t instance, bool refuse);
    void doubt(TimePoint now, PeerId id, Generation generation, std::uint32_t instance);
    void meet_successor(TimePoint now, const wire::Packet& packet);
    void end_instance(TimePoint now, PeerId id);

    // Taking in what others say: membership_merge.cc.
    template <class Message>
    void merge(TimePoint now, const Message& message, bool compared);
    void merge_record(TimePoint now, PeerId from, const wire::RecordDelta& delta, wire::MemberState state,
                      bool compared);
    void correct(TimePoint now, const Endpoint& at, PeerId accuser);
    bool is_told(TimePoint now, const Peer& peer) const;
    void merge_fact(TimePoint now, PeerId from, const wire::Fact& fact, bool compared);
    void merge_own_fact(TimePoint now, const wire::Fact& fact);
    void merge_loads(TimePoint now, PeerId from, const wire::LoadGroup& group);
    void settle(TimePoint now, PeerId from, const wire::Header& header);
    void compare_digest(TimePoint now, const wire::Sync& sync);
    void answer_wants(PeerId to, const std::vector<wire::Pull>& pulls, std::uint64_t seq, bool with_loads,
                      std::vector<wire::Pull> own_wants, TimePoint now);
    void compare_summary(TimePoint now, const wire::Sync& sync);
    void start_sync(TimePoint now, PeerId with, bool want_loads);
    void send_digest(TimePoint now, PeerId with, PeerId first, PeerId last, bool want_loads);
    void pull(TimePoint now, PeerId from, PeerId peer);
    void send_wants();

    // Cluster keys: membership_keys.cc.
    void send_keys(PeerId to, bool want_theirs);
    void push_keys(PeerId but);
    void compare_keys(const wire::Sync& digest);
    void take_keys(const wire::Sync& sync);

    // Turns of a peer's instance, with all that follows: membership.cc.
    // We have evidence of our own that it does not answer.
    void accuse(TimePoint now, PeerId id);
    void suspect(TimePoint now, PeerId id, Incarnation incarnation, PeerId accuser);
    void confirm(TimePoint now, PeerId id, PeerId accuser);
    // The verdict about a live peer; in a rack with many suspects it waits for the verdicts about the others.
    void judge_dead(TimePoint now, PeerId id, Incarnation incarnation, PeerId accuser);
    void settle_rack(TimePoint now, const std::string& rack);
    void mark_deferred_dead(TimePoint now, const std::vector<PeerId>& peers);
    void mark_dead(TimePoint now, PeerId id, Incarnation incarnation, PeerId accuser);
    void mark_lost(TimePoint now, PeerId id);
    void mark_alive(TimePoint now, PeerId id, Incarnation incarnation);
    void mark_left(TimePoint now, PeerId id, Incarnation incarnation);
    void forget(PeerId id);
    void check_name(PeerId id);
    void keep_gone_bounded();

    // Sending: membership.cc.
    wire::Header header() const;
    Step step(TimePoint now) { return {now, config_, roster_, rng_, numbers_, timers_}; }
    void carry_out(TimePoint now, Effects effects);
    // With our own record when asked for, the fact about `to` when it may have to refute it, and news.
    void send(TimePoint now, const Endpoint& at, std::optional<PeerId> to, wire::Packet packet, bool introduce_us);
    void send_sync(PeerId to, wire::Sync sync);
    void gossip(TimePoint now);
    void news(TimePoint now);
    void tell_record(TimePoint now);
    LoadReportRule load_report_rule(const wire::PeerRecord& of) const;
    void tell_loads(TimePoint now);
    void emit(EventKind kind, PeerId peer, PeerId other = {}, bool refuse = false);
    void push(const Event& event);
    void count(const Error& error);
    std::uint32_t retransmits() const;
    Duration next_sync_wait();
    void sync_sooner(TimePoint now);
    void stop();
    void timeout(TimePoint now, TimerKey key);

    const Config config_;
    const ClusterId cluster_;
    Rng rng_;
    Sequence numbers_;
    const std::uint32_t instance_;
    Roster roster_;
    LoadTable loads_;
    GossipQueue queue_;
    Timers timers_;
    Prober prober_;
    SuspicionTable suspicions_;
    LossHold losses_;
    Counters counters_;
    const Crypto* crypto_ = nullptr;  // null: the cluster is not sealed
    KeyRing keys_;

    Stage stage_ = Stage::member;
    bool joined_ = false;
    TimePoint last_gossip_;
    TimePoint record_told_;
    Duration record_wait_;

    std::vector<Endpoint> seeds_;
    std::deque<Endpoint> former_;      // gossip addresses of the lost and forgotten, oldest first
    std::vector<Endpoint> strangers_;  // of those and the seeds, what was no live peer's address in strangers_of_
    std::uint64_t strangers_of_ = 0;   // version of the roster's live peers; 0: never looked
    Duration seed_wait_{0};
    std::uint64_t join_seq_ = 0;  // of the digest whose answer makes us joined
    TimePoint join_sync_until_;
    TimePoint heal_sync_until_;
    std::uint32_t settled_digest_ = 0;  // of our roster when a ping last came, the same since settled_since_
    TimePoint settled_since_;
    TimePoint differs_sync_until_;
    Duration differs_wait_;
    Duration sync_wait_;

    std::map<PeerId, TimePoint> asked_until_;  // records asked for over the link
    std::map<PeerId, std::vector<wire::Pull>> wants_;
    std::map<PeerId, Doubt> doubts_;
    std::vector<PeerId> corrections_;  // of whom the packet at hand said what they had refuted

    std::deque<Transmit> transmits_;
    std::deque<SyncTransmit> syncs_;
    std::deque<Event> events_;
    std::shared_ptr<const View> view_;
    bool view_stale_ = true;
    std::uint64_t view_number_ = 0;
};

}  // namespace exa::membership
