// Roster: every peer that we know of, ourselves included, in the newest instance, state and record version heard of.
//
// A state machine without time or chance of its own. It orders what it hears by (generation, incarnation, state) and
// (generation, version). What follows from a change (updates, timers, events) is Membership's work.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "membership/intern_pool.h"
#include "membership/versioned_record.h"
#include "membership/view.h"
#include "wire/gossip.h"

namespace exa::membership {

struct Peer {
    std::shared_ptr<const VersionedRecord> record;  // never null; version 0: only the profile is known yet
    Incarnation incarnation;
    PeerId accuser;  // of a suspect or dead peer, the latest one
    TimePoint since;
    std::uint32_t instance = 0;
    Liveness liveness = Liveness::alive;
    bool out_of_view = false;  // left so long ago that views do not show it

    bool is_live() const { return liveness == Liveness::alive || liveness == Liveness::suspect; }
};

class Roster {
  public:
    enum class Applied : std::uint8_t {
        stale,      // nothing new
        created,    // a peer that was unknown
        restarted,  // a newer instance of a known peer
        changed,    // a newer version of its record
        gap,        // there is a newer version, but this delta does not lead to it from ours: ask for it
        conflict,   // another instance with the same generation: nothing changed
        full        // no room for another peer, or for so big a record: nothing changed
    };

    // `pool`: where equal records of others are shared; null: nowhere.
    Roster(TimePoint now, const wire::PeerRecord& self, std::uint32_t instance, std::size_t peers_max,
           std::shared_ptr<InternPool> pool = nullptr);

    PeerId self() const { return self_; }
    const Peer& own() const;
    // O(log n). A peer stays where it is until it is forgotten.
    const Peer* find(PeerId id) const;
    // All peers, sorted by id: peer(i) for i below size().
    std::size_t size() const { return ids_.size(); }
    const Peer& peer(std::size_t i) const;
    // Index of the first peer with this id or a higher one; size() when there is none.
    std::size_t position(PeerId id) const;
    // The other peers that are alive or suspect. Their order means nothing, but is the same for the same history.
    const std::vector<PeerId>& live() const { return live_; }
    // The other peers that are dead or lost, oldest first.
    const std::vector<std::pair<TimePoint, PeerId>>& dead() const { return dead_; }
    // Equal for equal sets of (id, generation, version) of the other live peers, whether suspect or not.
    std::uint32_t live_hash() const { return live_hash_; }
    // One peer's part of it.
    static std::uint32_t hash_part(PeerId id, Generation generation, std::uint64_t version);
    // The peers in live() that are suspect.
    const std::set<PeerId>& suspects() const { return suspects_; }
    // Ourselves and live().
    std::size_t live_count() const { return live_.size() + 1; }
    // From 1; grows whenever live(), or a gossip address in it, changes.
    std::uint64_t live_version() const { return live_version_; }

    // A record as it came. A created or restarted peer starts in `state`; a stub creates it with its profile only.
    Applied apply(TimePoint now, const wire::RecordDelta& delta, wire::MemberState state = wire::MemberState::alive);
    // Another instance of a known peer, with the same generation, runs at its address. Only the profile of its record
    // is known.
    void replace_instance(TimePoint now, PeerId id, std::uint32_t instance, Incarnation incarnation);
    // The next version of our own record: what changed gets the number version + 1. Others hear of it from the next
    // announce_self() on.
    void set_self(const wire::PeerRecord& record);
    void announce_self();
    // The version of our record that others hear of.
    std::uint64_t announced_version() const { return announced_->version; }

    // The one place where liveness changes. The peer must be known.
    void set_liveness(TimePoint now, PeerId id, Liveness liveness, Incarnation incarnation, PeerId accuser = {});
    void set_accuser(PeerId id, PeerId accuser) { entry(id).accuser = accuser; }
    void take_out_of_view(PeerId id);
    void forget(PeerId id);
    // The peer that has been dead, lost or left for longest, when there are more than `max` such peers.
    std::optional<PeerId> oldest_tombstone(std::size_t max) const;

    // Another live peer of the same name.
    std::optional<PeerId> namesake(PeerId id) const;
    // All of this name, live or not.
    std::vector<PeerId> named(std::string_view name) const;

    static wire::Fact fact(const Peer& peer);
    wire::Fact fact(PeerId id) const;
    // What turns `base` into the held version; the whole record when that is not known any more. Nothing when the peer
    // or its record is unknown.
    std::optional<wire::RecordDelta> delta(PeerId id, std::uint64_t base) const;
    // The same for a peer of this roster.
    std::optional<wire::RecordDelta> delta(const Peer& peer, std::uint64_t base) const;
    // wire::size_bound of that delta, which is not built again for each packet that has no room for it.
    std::optional<std::size_t> delta_bytes(const Peer& peer, std::uint64_t base) const;
    // Says which version is held, with the profile.
    std::optional<wire::RecordDelta> stub(PeerId id) const;
    wire::DigestEntry digest(const Peer& peer) const;
    wire::DigestEntry digest(PeerId id) const;
    // A hash of the digest entries of each part of the id space (wire::summary_parts), except those out of view.
    std::span<const std::uint64_t> summary() const { return summary_; }
    // The ids of a part, from the first to the last.
    static std::pair<PeerId, PeerId> ids_of_part(std::size_t part);

    // Sorted by id, without those out of view. Shares what did not change since the last call.
    MemberList members() const;

  private:
    struct Entry : Peer {
        std::uint32_t hashed = 0;      // its part of live_hash_
        std::uint64_t summarised = 0;  // its part of summary_
        std::uint32_t live_at = 0;     // its place in live_ while it stands there
    };

    Entry* find_entry(PeerId id) const;
    Entry& entry(PeerId id) const;
    Entry& add(PeerId id);
    void index(Entry& entry);
    void unindex(Entry& entry);
    void rehash(Entry& entry);
    void summarise(Entry& entry, std::uint64_t as);
    const VersionedRecord& announced_record(const Peer& peer) const {
        return &peer == own_ ? *announced_ : *peer.record;
    }
    void replace_record(Entry& entry, std::shared_ptr<const VersionedRecord> record);

    PeerId self_;
    std::size_t peers_max_;
    std::shared_ptr<InternPool> pool_;
    // Sorted. Two arrays, because a search then reads a few cache lines and not a line of every peer on its way.
    std::vector<PeerId> ids_;
    std::vector<std::unique_ptr<Entry>> peers_;
    Entry* own_ = nullptr;
    std::shared_ptr<const VersionedRecord> announced_;
    std::vector<PeerId> live_;
    std::uint64_t live_version_ = 1;
    std::uint32_t live_hash_ = 0;
    std::array<std::uint64_t, wire::summary_parts> summary_{};
    std::set<PeerId> suspects_;
    // Oldest first.
    std::vector<std::pair<TimePoint, PeerId>> dead_;
    std::vector<std::pair<TimePoint, PeerId>> tombstones_;
    std::vector<std::pair<std::uint64_t, PeerId>> names_;  // all peers, sorted by the hash of their name
    mutable MemberList members_;
    mutable bool members_stale_ = true;
};

Liveness liveness_of(wire::MemberState state);
wire::MemberState state_of(Liveness liveness);

}  // namespace exa::membership
